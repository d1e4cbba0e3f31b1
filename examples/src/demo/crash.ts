/** The number of records of an approved order with its shipment, and of an order without approval. The last record ends the run. */
const RECORDS = { approved: 10, abandoned: 7 };

/** Kills the process at a random remaining record, but not at the last one. */
export class Crash {
  #left: number;

  constructor(recordsDone: number, someoneApproves: boolean) {
    const all = someoneApproves ? RECORDS.approved : RECORDS.abandoned;
    this.#left = 1 + Math.floor(Math.random() * Math.max(1, all - 1 - recordsDone));
  }

  /** A record was committed. */
  count(): void {
    this.#left -= 1;
    if (this.#left !== 0) return;
    console.log("\n--crash: this process kills itself here. Start it again (npm run demo) to resume.");
    process.kill(process.pid, "SIGKILL");
  }
}

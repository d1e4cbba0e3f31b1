/** Records of an order that is approved, its shipment's among them, and of one that is not. The last ends the run. */
const RECORDS = { approved: 10, abandoned: 7 };

/** Ends the process at a record that is drawn once among those still to come; never at the last. */
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
    console.log("\n--crash: this process kills itself here. Start it again (npm run demo) to go on.");
    process.kill(process.pid, "SIGKILL");
  }
}

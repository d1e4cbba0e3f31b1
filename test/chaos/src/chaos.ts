import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "pawl";
import { check, type Verdict } from "./check/check.ts";
import { Inspector } from "./check/dump.ts";
import type { Finding } from "./check/evidence.ts";
import { createRowsTable, hasTransactions } from "./database.ts";
import type { Line } from "./entry.ts";
import { Fleet } from "./fleet.ts";
import { Killer, type SignalCounts } from "./killer.ts";
import { Ledger } from "./ledger.ts";
import { scenarioAt, sweepScenario } from "./load/scenario.ts";
import type { Options } from "./options.ts";
import { DATABASE_FILE, LEDGER_FILE } from "./settings.ts";
import { WorkList } from "./work-list.ts";

export interface Outcome {
  readonly signals: SignalCounts;
  readonly verdict: Verdict;
}

/** After the last signal, some run must make progress within SETTLE_MS until all have ended, and all must end within SETTLE_MS_MAX. */
const SETTLE_MS = 60_000;
const SETTLE_MS_MAX = 600_000;
/** The time under load before the first signal and after the last. */
const LOAD_MS_MIN = 1_000;
const PROGRESS_MS = 5_000;
const INTERRUPTED = 130;

/** Runs the load while workers are killed, waits until all runs have ended, and checks the evidence. */
export async function chaos(options: Options, folder: string, print: (text: string) => void): Promise<Outcome> {
  const ledger = await Ledger.create(join(folder, LEDGER_FILE));
  const address = options.address ?? join(folder, DATABASE_FILE);
  const transactions = hasTransactions(address);
  const work = new WorkList((index) => scenarioAt(options.seed, index, { transactions }));
  const through = options.through ?? address;
  const fleet = new Fleet({
    folder,
    address: through,
    workers: options.workers,
    leaseMs: options.leaseMs,
    ledger,
    work,
  });
  const killer = new Killer(fleet, options.leaseMs, seededRandom(options.seed));
  const progress = setInterval(() => {
    print(`${killer.count} of ${options.kills} kills, ${work.made} scenarios started, ${work.left} open`);
  }, PROGRESS_MS);
  const stop = (): never => {
    fleet.kill();
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await createRowsTable(address);
    fleet.open();
    await eventually(ledger, async () => fleet.up.length > 0);
    process.send?.("started");
    await delay(LOAD_MS_MIN);
    await killer.sendSignals(options.kills);
    process.send?.("killed");
    await delay(LOAD_MS_MIN);
    work.close();
    const late = await settle(work, ledger, address);
    await fleet.close();
    await ledger.close();
    const verdict = await judge(ledger, address, options.leaseMs);
    return { signals: killer.signals, verdict: { ...verdict, findings: [...late, ...verdict.findings] } };
  } finally {
    clearInterval(progress);
    fleet.kill();
  }
}

/** Waits until every run has ended. Then a last scenario receives the events that are left on topics. */
async function settle(work: WorkList, ledger: Ledger, address: string): Promise<readonly Finding[]> {
  const driven = await eventually(ledger, async () => work.left === 0);
  if (!driven) return [{ kind: "lost", text: `${work.left} scenarios did not end` }];
  const inspector = await Inspector.open(address);
  const ended = await eventually(ledger, async () => (await inspector.openRuns()) === 0);
  await inspector.close();
  if (!ended) return [{ kind: "lost", text: "some runs did not end" }];
  work.add(sweepScenario);
  const swept = await eventually(ledger, async () => work.left === 0);
  return swept ? [] : [{ kind: "lost", text: "the events left on topics were not received" }];
}

/** Waits for a condition. False if no run made progress for SETTLE_MS, or after SETTLE_MS_MAX. A busy host is slow; a stuck run never ends. */
async function eventually(ledger: Ledger, holds: () => Promise<boolean>): Promise<boolean> {
  const most = Date.now() + SETTLE_MS_MAX;
  let until = Date.now() + SETTLE_MS;
  let moves = 0;
  while (Date.now() < Math.min(until, most)) {
    if (await holds()) return true;
    const made = movesIn(ledger.lines);
    if (made > moves) until = Date.now() + SETTLE_MS;
    moves = made;
    await delay(100);
  }
  return false;
}

function movesIn(lines: readonly Line[]): number {
  return lines.reduce((count, { kind }) => (kind === "record" || kind === "result" ? count + 1 : count), 0);
}

async function judge(ledger: Ledger, address: string, leaseMs: number): Promise<Verdict> {
  const inspector = await Inspector.open(address);
  const dump = await inspector.dump();
  await inspector.close();
  return check({ ...dump, lines: ledger.lines, leaseMs });
}

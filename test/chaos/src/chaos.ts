import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "pawl";
import { check, type Verdict } from "./check/check.ts";
import { Inspector } from "./check/dump.ts";
import type { Finding } from "./check/evidence.ts";
import { hasTransactions, makeBooks } from "./database.ts";
import type { Line } from "./entry.ts";
import { Fleet } from "./fleet.ts";
import { type Blows, Killer } from "./killer.ts";
import { Ledger } from "./ledger.ts";
import { scenarioAt, sweepScenario } from "./load/scenario.ts";
import type { Options } from "./options.ts";
import { DATABASE_FILE, LEDGER_FILE } from "./settings.ts";
import { WorkList } from "./work-list.ts";

export interface Outcome {
  readonly blows: Blows;
  readonly verdict: Verdict;
}

/** After the last blow, a run has to move within this time, until all have ended; and all of it within the other. */
const SETTLE_MS = 60_000;
const SETTLE_MOST_MS = 600_000;
/** How long the load runs before the first blow and after the last. */
const CALM_MS = 1_000;
const PROGRESS_MS = 5_000;
const INTERRUPTED = 130;

/** Runs the load under blows, lets everything come to its end, and judges. */
export async function chaos(options: Options, folder: string, say: (text: string) => void): Promise<Outcome> {
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
    say(`${killer.count} of ${options.kills} kills, ${work.made} scenarios begun, ${work.left} open`);
  }, PROGRESS_MS);
  const stop = (): never => {
    fleet.kill();
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await makeBooks(address);
    fleet.open();
    await eventually(ledger, async () => fleet.up.length > 0);
    process.send?.("begun");
    await delay(CALM_MS);
    await killer.strike(options.kills);
    process.send?.("struck");
    await delay(CALM_MS);
    work.close();
    const late = await settle(work, ledger, address);
    await fleet.close();
    await ledger.close();
    const verdict = await judge(ledger, address, options.leaseMs);
    return { blows: killer.blows, verdict: { ...verdict, findings: [...late, ...verdict.findings] } };
  } finally {
    clearInterval(progress);
    fleet.kill();
  }
}

/** Waits until every run has ended, then has what was left on topics collected. */
async function settle(work: WorkList, ledger: Ledger, address: string): Promise<readonly Finding[]> {
  const driven = await eventually(ledger, async () => work.left === 0);
  if (!driven) return [{ kind: "lost", text: `${work.left} scenarios did not come to their end` }];
  const inspector = await Inspector.open(address);
  const ended = await eventually(ledger, async () => (await inspector.openRuns()) === 0);
  await inspector.close();
  if (!ended) return [{ kind: "lost", text: "some runs did not come to their end" }];
  work.add(sweepScenario);
  const swept = await eventually(ledger, async () => work.left === 0);
  return swept ? [] : [{ kind: "lost", text: "the events left on topics were not collected" }];
}

/** False: no run has moved for long, or it does not come to an end. A busy machine takes its time, and a stuck run takes for ever. */
async function eventually(ledger: Ledger, holds: () => Promise<boolean>): Promise<boolean> {
  const most = Date.now() + SETTLE_MOST_MS;
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

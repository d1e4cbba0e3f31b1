import { checkBodies } from "./check-bodies.ts";
import { checkCalls } from "./check-calls.ts";
import { checkCompensation } from "./check-compensation.ts";
import { checkJournals } from "./check-journals.ts";
import { checkPosts } from "./check-posts.ts";
import { checkProcesses } from "./check-processes.ts";
import { checkTransactionRows } from "./check-transaction-rows.ts";
import { type Evidence, type Finding, linesOf } from "./evidence.ts";
import { type Recovery, recoveryOf } from "./recovery.ts";
import { receivedBy } from "./run-evidence.ts";

export interface Verdict {
  readonly findings: readonly Finding[];
  readonly duplicates: number;
  readonly figures: {
    readonly runs: number;
    readonly records: number;
    readonly bodies: number;
    readonly transactionRows: number;
    readonly received: number;
    readonly letters: number;
    readonly continued: number;
    readonly expiredLeases: number;
    readonly recovery: Recovery;
  };
}

/** Pure: compares the reports of the processes with the contents of the database. */
export function check(evidence: Evidence): Verdict {
  const bodies = checkBodies(evidence);
  const { runs } = evidence;
  return {
    findings: [
      ...checkCalls(evidence),
      ...checkJournals(evidence),
      ...bodies.findings,
      ...checkPosts(evidence),
      ...checkProcesses(evidence),
      ...checkTransactionRows(evidence),
      ...checkCompensation(evidence),
    ],
    duplicates: bodies.duplicates,
    figures: {
      runs: runs.length,
      records: total(runs.map((run) => run.records.length)),
      bodies: linesOf(evidence, "begin").length,
      transactionRows: evidence.transactionRows.length,
      received: total(runs.map((run) => receivedBy(run).length)),
      letters: evidence.letters.length,
      continued: total(runs.map((run) => run.generation)),
      expiredLeases: expiredLeases(evidence),
      recovery: recoveryOf(evidence.lines),
    },
  };
}

/** The number of expired leases that workers were notified of. The first heartbeat of a worker also returns alive=false. */
function expiredLeases(evidence: Evidence): number {
  const heartbeats = linesOf(evidence, "heartbeat");
  return heartbeats.filter(({ alive }) => !alive).length - new Set(heartbeats.map(({ process }) => process)).size;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

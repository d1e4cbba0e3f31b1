import { checkBodies } from "./check-bodies.ts";
import { checkBooks } from "./check-books.ts";
import { checkCalls } from "./check-calls.ts";
import { checkJournals } from "./check-journals.ts";
import { checkParcels } from "./check-parcels.ts";
import { checkProcesses } from "./check-processes.ts";
import { type Evidence, type Finding, linesOf } from "./evidence.ts";
import { type Recovery, recoveryOf } from "./recovery.ts";
import { receivedBy } from "./telling.ts";

export interface Verdict {
  readonly findings: readonly Finding[];
  readonly duplicates: number;
  readonly figures: {
    readonly runs: number;
    readonly records: number;
    readonly bodies: number;
    readonly books: number;
    readonly received: number;
    readonly letters: number;
    readonly continued: number;
    readonly lapses: number;
    readonly recovery: Recovery;
  };
}

/** Pure: joins what was said while it happened with what the database holds. */
export function check(evidence: Evidence): Verdict {
  const bodies = checkBodies(evidence);
  const { runs } = evidence;
  return {
    findings: [
      ...checkCalls(evidence),
      ...checkJournals(evidence),
      ...bodies.findings,
      ...checkParcels(evidence),
      ...checkProcesses(evidence),
      ...checkBooks(evidence),
    ],
    duplicates: bodies.duplicates,
    figures: {
      runs: runs.length,
      records: total(runs.map((run) => run.records.length)),
      bodies: linesOf(evidence, "begin").length,
      books: evidence.books.length,
      received: total(runs.map((run) => receivedBy(run).length)),
      letters: evidence.letters.length,
      continued: total(runs.map((run) => run.generation)),
      lapses: lapses(evidence),
      recovery: recoveryOf(evidence.lines),
    },
  };
}

/** How often a worker was told that others took it for dead. Its first heartbeat, which registers it, says so too. */
function lapses(evidence: Evidence): number {
  const beats = linesOf(evidence, "beat");
  return beats.filter(({ alive }) => !alive).length - new Set(beats.map(({ process }) => process)).size;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

import { toColumn, toColumnOrNull } from "../text-column.ts";
import { detailColumn, outcomeColumn } from "./run-rows.ts";
import type { Stage } from "./stage.ts";
import type { StagedRun } from "./staged-run.ts";

/** The case of a commit that is one record of one run and nothing else, as the arguments of the function that writes it. */

const ARGUMENTS = Array.from({ length: 12 }, (_, index) => `$${index + 1}`).join(", ");

export const APPEND_CALL = `SELECT @.append_7(${ARGUMENTS})::text AS json`;

/** Null: there is something else to write. */
export function appendValues(stage: Stage, now: number | null): readonly unknown[] | null {
  const [run] = stage.staged.all();
  const [record] = run?.records ?? [];
  if (run === undefined || run.known === null || record === undefined || !isAlone(stage) || !isRecord(run)) return null;
  const { seq, location, kind, outcome, attempts, startedAt, at, detail, payload } = record;
  const texts = [detailColumn(detail), toColumnOrNull(payload)];
  const row = [seq, toColumn(location), kind, outcomeColumn(outcome), attempts, startedAt, at, ...texts];
  return [now, toColumn(run.head.id), run.known.rev, ...row];
}

function isAlone({ staged, stagedTopics, workers, letters, documents }: Stage): boolean {
  const { changes, closed } = documents;
  const others = [stagedTopics.changes, workers.needed, letters.changes, changes, closed, staged.childless];
  if (staged.size > 1 || others.some(({ size }) => size > 0)) return false;
  for (const [, { touched }] of stagedTopics.all()) if (touched) return false;
  return true;
}

function isRecord({ saved, records, cuts, added, taken, topics, seen }: StagedRun): boolean {
  if (saved || records.length > 1 || cuts.length + added.length > 0) return false;
  return taken === null && topics === null && seen === null;
}

import { bodyInFailure, type PostValue, type RunOutput, type StepValue } from "../load/run-output.ts";
import type { RecordDump, RunDump } from "./evidence.ts";

/** The output of a completed run. Null for other runs, and for an output of another shape. */
export function outputOf(run: RunDump): RunOutput | null {
  const output = run.output as Partial<RunOutput> | null | undefined;
  if (run.status !== "completed" || typeof output?.value !== "number") return null;
  return { value: output.value, bodies: output.bodies ?? [], received: output.received ?? [] };
}

/** The id of the body whose result the record contains. */
export function bodyIn(record: RecordDump): string | null {
  if (record.kind !== "step" && record.kind !== "retry") return null;
  if (record.outcome === "failed") return bodyInFailure(record.error ?? "");
  return (record.value as Partial<StepValue> | null | undefined)?.body ?? null;
}

/** Ids of the messages or events that a record contains, in order. */
function postsIn({ kind, outcome, value }: RecordDump): readonly string[] {
  if ((kind !== "listen" && kind !== "event") || outcome !== "ok" || value === undefined) return [];
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<{ readonly value: PostValue }>;
  return items.map((item) => item.value.id);
}

/** Ids of the messages and events in the journal of the run. */
export function receivedInJournal(run: RunDump): readonly string[] {
  return run.records.flatMap(postsIn);
}

/** Ids that a run received in all its generations, in order. The journals of earlier generations are removed, but the output contains them. */
export function receivedBy(run: RunDump): readonly string[] {
  return outputOf(run)?.received ?? receivedInJournal(run);
}

/** The ids of the bodies whose values are in the output or the journal of the run. */
export function committedBodies(run: RunDump): readonly string[] {
  const recorded = run.records.flatMap((record) => (record.kind === "step" ? (bodyIn(record) ?? []) : []));
  return [...new Set([...(outputOf(run)?.bodies ?? []), ...recorded])];
}

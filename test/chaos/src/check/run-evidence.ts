import { bodyInFailure, type PostValue, type RunOutput, type StepValue } from "../load/run-output.ts";
import type { RecordDump, RunDump } from "./evidence.ts";

/** The output of a completed run. Null for other runs, and for an output of another shape. */
export function outputOf(run: RunDump): RunOutput | null {
  const output = run.output as Partial<RunOutput> | null | undefined;
  if (run.status !== "completed" || typeof output?.value !== "number") return null;
  return { value: output.value, bodies: output.bodies ?? [], received: output.received ?? [] };
}

/** Whether the run undoes a child. Its journal begins with a copy of the child's. */
export function isUndoRun({ id }: Pick<RunDump, "id">): boolean {
  return id.endsWith("//~undo");
}

/** The records that the run made itself. */
export function ownRecords(run: RunDump): readonly RecordDump[] {
  if (!isUndoRun(run)) return run.records;
  return run.records.slice(run.records.findIndex(({ kind }) => kind === "compensate") + 1);
}

/** The id of the body whose result the record contains. */
export function bodyIn(record: RecordDump): string | null {
  if (record.kind !== "step" && record.kind !== "retry") return null;
  if (record.outcome === "failed") return bodyInFailure(record.error ?? "");
  return (record.value as Partial<StepValue> | null | undefined)?.body ?? null;
}

/** Ids of the messages or events that a record contains, in order. */
function postsIn({ kind, outcome, value }: RecordDump): readonly string[] {
  const chosen =
    kind === "select" ? (value as { readonly value?: Partial<PostValue> | null } | null)?.value?.id : undefined;
  if (chosen !== undefined) return [chosen];
  if ((kind !== "listen" && kind !== "event") || outcome !== "ok" || value === undefined) return [];
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<{ readonly value: PostValue }>;
  return items.map((item) => item.value.id);
}

/** Ids of the messages and events in the journal of the run. */
export function receivedInJournal(run: RunDump): readonly string[] {
  return ownRecords(run).flatMap(postsIn);
}

/** Ids that a run received in all its generations, in order. The journals of earlier generations are removed, but the output contains them. */
export function receivedBy(run: RunDump): readonly string[] {
  return outputOf(run)?.received ?? receivedInJournal(run);
}

/** The ids of the bodies whose values are in the output or the journal of the run. */
export function committedBodies(run: RunDump): readonly string[] {
  const recorded = ownRecords(run).flatMap((record) => (record.kind === "step" ? (bodyIn(record) ?? []) : []));
  return [...new Set([...(outputOf(run)?.bodies ?? []), ...recorded])];
}

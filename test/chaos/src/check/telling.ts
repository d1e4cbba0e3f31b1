import { bodyInFailure, type Parcel, type StepValue, type Told } from "../load/told.ts";
import type { RecordDump, RunDump } from "./evidence.ts";

/** What a completed run returned; null for others, and for what has another shape. */
export function toldBy(run: RunDump): Told | null {
  const told = run.output as Partial<Told> | null | undefined;
  if (run.status !== "completed" || typeof told?.value !== "number") return null;
  return { value: told.value, bodies: told.bodies ?? [], received: told.received ?? [] };
}

/** Which try of a body a record keeps. */
export function bodyIn(record: RecordDump): string | null {
  if (record.kind !== "step" && record.kind !== "retry") return null;
  if (record.outcome === "failed") return bodyInFailure(record.error ?? "");
  return (record.value as Partial<StepValue> | null | undefined)?.body ?? null;
}

/** Ids of the messages or events that a record keeps, in order. */
function parcelsIn({ kind, outcome, value }: RecordDump): readonly string[] {
  if ((kind !== "listen" && kind !== "event") || outcome !== "ok" || value === undefined) return [];
  const items = (Array.isArray(value) ? value : [value]) as ReadonlyArray<{ readonly value: Parcel }>;
  return items.map((item) => item.value.id);
}

/** What the journal says that the run received. */
export function receivedInJournal(run: RunDump): readonly string[] {
  return run.records.flatMap(parcelsIn);
}

/** What a run received in all its generations, in order; the journal of earlier ones is gone, but their runs told. */
export function receivedBy(run: RunDump): readonly string[] {
  return toldBy(run)?.received ?? receivedInJournal(run);
}

/** The tries whose values a run was given or has recorded. */
export function committedBodies(run: RunDump): readonly string[] {
  const recorded = run.records.flatMap((record) => (record.kind === "step" ? (bodyIn(record) ?? []) : []));
  return [...new Set([...(toldBy(run)?.bodies ?? []), ...recorded])];
}

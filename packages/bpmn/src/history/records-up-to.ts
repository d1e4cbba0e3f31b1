import { type Engine, PawlError, type RecordView, type RunSummary } from "pawl";

/**
 * Reads the records of a run up to a seq, or all of them. Apart from the views, because every view of an earlier time reads the same part.
 * `isWhole`: the run has no later record.
 */
export async function recordsUpTo(
  engine: Pick<Engine, "run">,
  { id, baseSeq }: RunSummary,
  at: number | null,
): Promise<{ readonly records: readonly RecordView[]; readonly isWhole: boolean }> {
  const all = await engine.run(id).journal();
  if (at === null) return { records: all, isWhole: true };
  const newest = all.at(-1)?.seq ?? baseSeq;
  if (at > newest || (at < baseSeq && at !== 0)) {
    const range = `from ${baseSeq} to ${newest}`;
    throw new PawlError("RECORD_NOT_FOUND", `run ${id} has no record ${at}; it has records ${range}`);
  }
  return { records: all.filter(({ seq }) => seq <= at), isWhole: at === newest };
}

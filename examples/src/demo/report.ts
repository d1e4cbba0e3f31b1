import type { Engine, JournalRecord, RecordView, RunSummary } from "pawl";

type Line = Pick<JournalRecord, "seq" | "kind" | "location" | "outcome" | "attempts" | "startedAt" | "at">;

const SHOWN_MAX = 100;

export function recordLine(workflow: string, record: Line, note = ""): string {
  const { seq, kind, location, outcome, startedAt, at } = record;
  const columns = [
    String(seq).padStart(6),
    workflow.padEnd(9),
    kind.padEnd(7),
    location.padEnd(16),
    outcome.padEnd(9),
    `${at - startedAt} ms`.padStart(9),
  ];
  return `${columns.join(" ")}${note === "" ? "" : `   ${note}`}`;
}

export function heading(): string {
  return `${"record".padStart(6)} ${"run of".padEnd(9)} ${"kind".padEnd(7)} ${"location".padEnd(16)} ${"outcome".padEnd(9)} ${"took".padStart(9)}`;
}

export interface Kept {
  readonly workflow: string;
  readonly record: RecordView;
}

/** The records of an order and of its children, in order of time. */
export async function keptRecords(engine: Engine, order: RunSummary): Promise<readonly Kept[]> {
  const shipments = await engine.list({ workflow: "shipment", limit: SHOWN_MAX });
  const children = shipments.items.filter((run) => run.parent?.runId === order.id);
  const kept: Kept[] = [];
  for (const run of [order, ...children]) {
    const journal = await engine.run(run.id).journal();
    kept.push(...journal.map((record) => ({ workflow: run.workflow, record })));
  }
  return kept.sort((a, b) => a.record.at - b.record.at);
}

/** The names of the recorded steps, whose bodies are not executed again. */
export function stepNames(kept: readonly Kept[]): readonly string[] {
  return kept.filter(({ record }) => record.kind === "step").map(({ record }) => record.location);
}

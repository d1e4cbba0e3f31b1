import { createEngine, type RunSummary } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { type Kept, keptRecords } from "./report.ts";

/** The order of an earlier start of the demo, if there is one. */
export type Found =
  | { readonly kind: "nothing open"; readonly nextId: string }
  | { readonly kind: "open"; readonly run: RunSummary; readonly kept: readonly Kept[] }
  | { readonly kind: "paused"; readonly run: RunSummary };

/** Reads with an engine without workflows, which executes no run. */
export async function findOrder(file: string): Promise<Found> {
  const client = await createEngine({ store: sqliteStore(file) });
  try {
    const [newest] = (await client.list({ workflow: "order", limit: 1 })).items;
    if (newest === undefined) return { kind: "nothing open", nextId: "order-1" };
    if (newest.endedAt !== null) return { kind: "nothing open", nextId: idAfter(newest.id) };
    if (newest.status === "paused") return { kind: "paused", run: newest };
    return { kind: "open", run: newest, kept: await keptRecords(client, newest) };
  } finally {
    await client.shutdown();
  }
}

function idAfter(id: string): string {
  return `order-${Number(id.replace("order-", "")) + 1}`;
}

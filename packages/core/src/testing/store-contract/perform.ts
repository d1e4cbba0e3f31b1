import type { Run } from "../../model/run.ts";
import { type WholeRun, wholeRun } from "../../operator/action.ts";
import type { OwnedRun } from "../../rules/tables.ts";
import type { Store } from "../../store/store.ts";
import { workflows } from "./builders.ts";
import type { StoreAction } from "./store-actions.ts";

/** Performs an action and returns the answer of the store. The caller performs `advance` on its world. */
export async function perform(store: Store, action: StoreAction): Promise<unknown> {
  switch (action.kind) {
    case "commit":
      return store.commit(action.batch);
    case "claim":
      return store.claim(action.request);
    case "heartbeat":
      return sortedOwned(
        await store.heartbeat(action.worker, action.leaseMs, workflows("order", "other"), action.lapsed),
      );
    case "retire":
      return store.retire(action.worker);
    case "prune":
      return store.prune(action.request);
    case "read":
      return sortedOwned({
        owned: await store.ownedRunning(action.worker),
        due: await store.dueRuns(action.worker, 100),
        next: await store.nextDueAt(action.worker, workflows("order", "other")),
      });
    case "advance":
      return null;
  }
}

/** Sorts the owned runs, because a store may return them in any order. */
function sortedOwned<Answer extends { readonly owned: readonly OwnedRun[] }>(answer: Answer): Answer {
  return { ...answer, owned: [...answer.owned].sort((left, right) => (left.id < right.id ? -1 : 1)) };
}

interface RunDump {
  readonly loaded: WholeRun | null;
  readonly children: readonly string[];
}

interface StoreDump {
  readonly runs: readonly RunDump[];
  readonly letters: readonly unknown[];
  readonly documents: readonly unknown[];
  readonly workers: readonly unknown[];
}

/** Reads everything that a store returns. Stores with the same data give the same dump. */
export async function dumpStore(store: Store): Promise<StoreDump> {
  const { reader } = store;
  const runs = await allPages((cursor) => reader.list({ limit: 50, ...cursor }));
  return {
    runs: await Promise.all(runs.map((run) => dumpRun(store, run))),
    letters: await allPages((cursor) => reader.deadLetters({ limit: 50, ...cursor })),
    documents: await allPages((cursor) => reader.documents({ kind: "task", limit: 50, ...cursor })),
    workers: await reader.workers(),
  };
}

async function dumpRun(store: Store, run: Run): Promise<RunDump> {
  const { items } = await store.reader.children(run.id, { limit: 100 });
  const loaded = await store.load(run.id, 0);
  return { loaded: loaded && wholeRun(loaded), children: items.map((child) => child.id) };
}

async function allPages<Item>(
  read: (cursor: {
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly Item[]; readonly cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: { readonly items: readonly Item[]; readonly cursor: string | null } = await read(
      cursor === null ? {} : { cursor },
    );
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== null);
  return items;
}

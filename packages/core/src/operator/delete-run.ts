import { runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import { checkTarget } from "../model/names.ts";
import { kinds, optionTable, readOptions } from "../model/option-check.ts";
import { isTerminal } from "../model/run.ts";
import type { Store } from "../store/store.ts";

export interface DeleteOptions {
  /** Whether the run's children, and theirs, are deleted with it. Default: false; a run that has children is not deleted. */
  readonly children?: boolean;
}

const DELETE_OPTIONS = optionTable<DeleteOptions>("delete", { children: kinds.flag });

/** Later than any end of a run. */
const ANY_TIME = 8.64e15;
const CHILDREN_PAGE = 100;

export interface DeleteParts {
  readonly store: Store;
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Deletes an ended run with its journal, inbox and documents. Children are deleted before their parents. */
export async function deleteRun(parts: DeleteParts, runId: string, given: DeleteOptions | undefined): Promise<void> {
  const id = checkTarget(runId);
  const { children = false } = readOptions(DELETE_OPTIONS, given);
  await deleteEnded(parts, id, children);
}

async function deleteEnded(parts: DeleteParts, id: string, children: boolean): Promise<void> {
  const { store, withRetry } = parts;
  const run = await withRetry(() => store.reader.get(id));
  if (run === null) throw runNotFound(id);
  if (!isTerminal(run.status))
    throw new PawlError("RUN_OPEN", `run ${id} is ${run.status}; cancel or terminate it before you delete it`);
  while (children) {
    const { items } = await withRetry(() => store.reader.children(id, { limit: CHILDREN_PAGE }));
    if (items.length === 0) break;
    for (const child of items) await deleteEnded(parts, child.id, true);
  }
  const request = { runId: id, runsEndedBefore: ANY_TIME, receivedBefore: null, limit: 1 };
  const { runs } = await withRetry(() => store.prune(request));
  if (runs === 0 && (await withRetry(() => store.reader.get(id))) !== null)
    throw new PawlError("RUN_NEEDED", `run ${id} has children, or a run above it is open; nothing was deleted`);
}

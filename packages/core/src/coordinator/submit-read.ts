import type { Op, Outcomes, RunView } from "../model/op.ts";
import type { Reader } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import type { Committer } from "./committer.ts";
import { unavailable } from "./entry.ts";

export type AnyOutcome = Outcomes[Op["kind"]];

/** An op about a run that has to be read before it can be decided. */
type ReadOp = Extract<Op, { readonly opId: string }>;

/** How often an op from outside is decided anew because the run changed hands meanwhile. */
const AGAIN_MAX = 100;

/** Reads the run and asks for the op, which alone is decided anew: when the run has changed hands meanwhile, `ask` gives null. */
export async function submitRead(
  op: ReadOp,
  committer: Committer,
  reader: Reader,
  ask: (view: RunView | null) => Promise<AnyOutcome | null>,
): Promise<AnyOutcome> {
  for (let attempt = 1; attempt <= AGAIN_MAX; attempt += 1) {
    const outcome = await ask(await viewFor(op, committer, reader));
    if (outcome !== null) return outcome;
  }
  throw unavailable(op);
}

/** What is known of the run. It may be stale by the time of the commit: the guard decides. */
async function viewFor(op: ReadOp, committer: Committer, reader: Reader): Promise<RunView | null> {
  try {
    const run = await committer.reaching(() => reader.get(op.runId));
    return run === null ? null : { ...run, seq: -1 };
  } catch (error) {
    throw error instanceof StoreError ? unavailable(op, error) : error;
  }
}

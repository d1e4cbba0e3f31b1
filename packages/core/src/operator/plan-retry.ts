import { PawlError } from "../model/errors.ts";
import type { Codec } from "../model/payload.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { type AwaitedChild, awaitedChildren, childEndLocations } from "../rules/awaited-children.ts";
import type { Cut } from "../rules/cut-journal.ts";
import type { Reader } from "../store/store.ts";
import type { WholeRun } from "./action.ts";
import { retryCut } from "./rewind.ts";

export interface RetryParts {
  readonly codec: Codec;
  readonly reader: Reader;
  load(runId: string): Promise<WholeRun>;
}

/** Where a retry cuts the journal, and the children that it reopens. */
interface RetryPlan {
  readonly cut: Cut;
  /** The parent waits for these children again. They are retried before it. */
  readonly reopened: readonly string[];
}

/**
 * Plans the retry of a run. Children that failed, or were cancelled with the run, are reopened. A child that cannot be reopened, because
 * its steps were rolled back or its rows were removed, is started again: the cut is before its start.
 */
export async function planRetry(parts: RetryParts, { run, records }: WholeRun): Promise<RetryPlan> {
  if (run.status !== "failed" && run.status !== "cancelled")
    throw new PawlError(
      "RUN_NOT_FAILED",
      `run ${run.id} is ${run.status}; only a failed or cancelled run can be retried`,
    );
  const fresh = new Set<string>();
  for (;;) {
    const cut = retryCut(parts.codec, run, records, fresh);
    const children = await endedChildren(parts.reader, cut);
    const lost = await firstLost(parts, children);
    if (lost === null) return { cut, reopened: children };
    fresh.add(lost);
  }
}

/** The awaited children whose end would fail the run again: the dropped records received it, or it was caused by the end of the run. */
async function endedChildren(reader: Reader, { kept, dropped }: Cut): Promise<readonly string[]> {
  const failures = dropped.filter(({ outcome }) => outcome === "failed");
  const isReceived = ({ location }: AwaitedChild): boolean =>
    failures.some((record) => record.kind === "select" || childEndLocations(location).includes(record.location));
  const found: string[] = [];
  for (const awaited of awaitedChildren(kept)) {
    const child = await reader.get(awaited.child);
    const isWanted = isReceived(awaited) || child?.parent?.onClose === "cancel";
    if (isWanted && (child === null || child.status === "failed" || child.status === "cancelled"))
      found.push(awaited.child);
  }
  return found;
}

async function firstLost(parts: RetryParts, children: readonly string[]): Promise<string | null> {
  for (const child of children) if (!(await canReopen(parts, child))) return child;
  return null;
}

async function canReopen(parts: RetryParts, child: string): Promise<boolean> {
  try {
    await planRetry(parts, await parts.load(child));
    return true;
  } catch (error) {
    if (error instanceof PawlError) return false;
    throw error;
  }
}

/** Whether an open run is about to end as cancelled. */
export async function isBeingCancelled(reader: Reader, run: Run): Promise<boolean> {
  if (isTerminal(run.status)) return false;
  if (run.status === "compensating") return true;
  return (await reader.inbox(run.id)).some(({ kind }) => kind === "cancel");
}

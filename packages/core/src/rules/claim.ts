import { isTerminal } from "../model/run.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { Batch } from "./batch.ts";
import { draftOf, isWorking, workingStatus } from "./run-head.ts";
import type { ClaimedRun, ClaimRequest, Heartbeat, LapsedRun, RunHead, SuspectLimit } from "./tables.ts";

/** Runs of expired workers freed per heartbeat. */
const FREED_MAX = 1_000;

/** Makes the worker the owner of due runs, and returns them. */
export function claimRuns(batch: Batch, request: ClaimRequest): readonly ClaimedRun[] {
  const { tables, now } = batch;
  const { worker, suspects } = request;
  const chosen = choose(batch, request);
  if (chosen.length > 0) batch.register(worker);
  const isSuspect = ({ claims }: RunHead): boolean => suspects !== undefined && claims >= suspects.claims;
  const isAlone = suspects?.held === 0 && chosen.filter(isSuspect).length === 1;
  return chosen.flatMap((head) => {
    const newest = tables.journal.newestSeq(head);
    const counts = !isSuspect(head) || isAlone;
    const next = draftOf(head);
    next.status = workingStatus(head);
    next.epoch += 1;
    next.turn = 0;
    next.owner = worker;
    next.wakeAt = null;
    next.claims = newest > head.claimSeq ? 1 : head.claims + (counts ? 1 : 0);
    next.claimSeq = newest;
    next.startedAt ??= now;
    tables.runs.saveOwner(next);
    if (next.status === "compensating") tables.runs.saveWait(next, null);
    const run = tables.runs.get(head.id);
    return run === null ? [] : { ...run, isSuspect: isSuspect(head) };
  });
}

/** Chooses in the requested order, with the suspects of the next group. Reads further, so that skipped runs hide no other run. */
function choose({ tables, now }: Batch, request: ClaimRequest): readonly RunHead[] {
  const { workflows, limit, suspects, newestFirst = false } = request;
  for (let asked = limit; ; asked *= 2) {
    const heads = tables.runs.claimable({ workflows, now, limit: asked, newestFirst });
    const skipped = suspects === undefined ? new Set() : skippedRuns(heads, suspects, limit);
    const chosen = heads.filter((head) => !skipped.has(head)).slice(0, limit);
    if (chosen.length === limit || heads.length < asked) return chosen;
  }
}

/**
 * The runs that are due and not in the next claim. Suspects that were freed at the same moment lost the same worker. A group is half of
 * those, so each crash halves the suspects beside the run that causes it, and it is alone after as many crashes as their logarithm. A lone
 * suspect is claimed alone by an idle worker: any other run, also one that never lost a worker, may crash it.
 */
function skippedRuns(
  heads: readonly RunHead[],
  { claims, max, idle }: SuspectLimit,
  limit: number,
): ReadonlySet<RunHead> {
  const suspects = heads.filter((head) => head.claims >= claims);
  const isLone = (head: RunHead): boolean => head.claims > claims;
  const first = suspects.find((head) => !isLone(head) || (idle && max === null));
  if (first === undefined) return new Set(suspects);
  if (isLone(first)) return new Set(heads.filter((head) => head !== first));
  const others = suspects.filter((head) => !isLone(head) && (max !== null || head.wakeAt === first.wakeAt));
  const size = max ?? Math.max(1, Math.floor(others.length / 2));
  const group = new Set(others.slice(0, Math.min(limit, size)));
  return new Set(suspects.filter((head) => !group.has(head)));
}

/** The part of the reply that the rules decide. The store adds the rest. */
type LeaseRenewal = Pick<Heartbeat, "alive" | "freed">;

/** Whose lease a heartbeat renews, and for how long. */
export interface Renewal {
  readonly worker: string;
  readonly leaseMs: number;
  /** Omitted to keep the stored list. */
  readonly workflows?: readonly WorkflowRef[] | undefined;
  /** The runs that the worker executes, if its lease may have expired. */
  readonly lapsed?: readonly LapsedRun[] | undefined;
}

/**
 * Renews the lease of a worker, and frees runs of other workers whose lease expired. A worker whose own lease had expired keeps its
 * runs: a run that another worker claimed since has another owner.
 */
export function heartbeat(batch: Batch, { worker, leaseMs, workflows, lapsed = [] }: Renewal): LeaseRenewal {
  const { tables, now } = batch;
  const expiresAt = tables.workers.expiresAt(worker);
  const alive = expiresAt !== null && expiresAt > now;
  tables.workers.save(worker, now + leaseMs, workflows);
  for (const run of lapsed) takeBack(batch, worker, run);
  let freed = 0;
  for (const dead of tables.workers.dead(now, FREED_MAX)) {
    if (freed >= FREED_MAX) break;
    const left = FREED_MAX - freed;
    const runs = tables.runs.ownedBy(dead, left + 1);
    for (const head of runs.slice(0, left)) free(batch, head);
    freed += Math.min(runs.length, left);
    if (runs.length <= left) tables.workers.remove(dead);
  }
  return { alive, freed };
}

/**
 * Makes the worker the owner of its run again, in the same epoch, if the run was freed and not claimed since. If it was claimed through
 * no fault of its own, that claim is not counted.
 */
function takeBack(batch: Batch, worker: string, { id, epoch, isBlameless }: LapsedRun): void {
  const { runs } = batch.tables;
  const head = runs.head(id);
  if (head === null || isTerminal(head.status)) return;
  const next = draftOf(head);
  if (head.epoch === epoch && head.owner === null && isWorking(batch.tables, head)) {
    next.owner = worker;
    next.wakeAt = null;
    runs.saveOwner(next);
  } else if (head.epoch > epoch && isBlameless && head.claims > 0) {
    next.claims -= 1;
    runs.saveOwner(next);
  }
}

export function retireWorker(batch: Batch, worker: string): void {
  freeAll(batch, worker);
  batch.tables.workers.remove(worker);
}

function freeAll(batch: Batch, worker: string): number {
  let freed = 0;
  for (;;) {
    const runs = batch.tables.runs.ownedBy(worker, FREED_MAX);
    for (const head of runs) free(batch, head);
    freed += runs.length;
    if (runs.length < FREED_MAX) return freed;
  }
}

/**
 * Removes the owner. A suspended run keeps waiting; a working one becomes claimable now. The epoch stays: until another worker claims the
 * run, its last owner may append to it, so a result that arrives late is not lost. A run that made progress since it was claimed is no
 * suspect.
 */
function free(batch: Batch, head: RunHead): void {
  const next = draftOf(head);
  next.owner = null;
  if (next.claims > 0 && batch.tables.journal.newestSeq(head) > head.claimSeq) next.claims = 0;
  if (!isSuspended(batch, head)) next.wakeAt = batch.now;
  batch.tables.runs.saveOwner(next);
}

function isSuspended({ tables }: Batch, head: RunHead): boolean {
  if (head.status === "compensating") return !isWorking(tables, head);
  return head.status === "suspended" || isTerminal(head.status);
}

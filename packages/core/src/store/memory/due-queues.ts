import { distinctWorkflows, type WorkflowRef, workflowKey } from "../../model/workflow-ref.ts";
import type { ClaimableQuery } from "../../rules/tables.ts";
import type { MemoryRun } from "./memory-run.ts";

/**
 * The due times of runs: one queue per owner, and one per workflow version for runs without an owner. An entry stays in its queue when
 * its run changes. Its stamp is then outdated, and it is dropped when it reaches the top, or when too many entries have gathered.
 */
export class DueQueues {
  readonly #owned = new Map<string, DueQueue>();
  readonly #free = new Map<string, DueQueue>();

  update(memoryRun: MemoryRun): void {
    memoryRun.dueStamp += 1;
    const { owner, workflow, version, wakeAt } = memoryRun.head;
    if (wakeAt === null) return;
    const queues = owner === null ? this.#free : this.#owned;
    const name = owner ?? workflowKey({ name: workflow, version });
    const queue = queues.get(name) ?? new DueQueue();
    queues.set(name, queue);
    queue.push({ memoryRun, wakeAt, stamp: memoryRun.dueStamp });
  }

  /** Returns up to `limit` runs that are due at `now`, longest due first. */
  due(owner: string, now: number, limit: number): MemoryRun[] {
    return peek([this.#owned.get(owner)], now, limit);
  }

  claimable({ workflows, now, limit, newestFirst }: ClaimableQuery): MemoryRun[] {
    const queues = distinctWorkflows(workflows).map((workflow) => this.#free.get(workflowKey(workflow)));
    return newestFirst ? newest(queues, now, limit) : peek(queues, now, limit);
  }

  nextAt(owner: string, workflows: readonly WorkflowRef[]): number | null {
    let next: number | null = null;
    for (const queue of [
      this.#owned.get(owner),
      ...workflows.map((workflow) => this.#free.get(workflowKey(workflow))),
    ]) {
      const wakeAt = queue?.first()?.wakeAt ?? null;
      if (wakeAt !== null && (next === null || wakeAt < next)) next = wakeAt;
    }
    return next;
  }
}

interface DueEntry {
  readonly memoryRun: MemoryRun;
  readonly wakeAt: number;
  readonly stamp: number;
}

function peek(queues: readonly (DueQueue | undefined)[], now: number, limit: number): MemoryRun[] {
  const taken: { readonly queue: DueQueue; readonly entry: DueEntry }[] = [];
  while (taken.length < limit) {
    let next: (typeof taken)[number] | null = null;
    for (const queue of queues) {
      const entry = queue?.first() ?? null;
      if (queue === undefined || entry === null || entry.wakeAt > now) continue;
      if (next === null || isBefore(entry, next.entry)) next = { queue, entry };
    }
    if (next === null) break;
    next.queue.pop();
    taken.push(next);
  }
  for (const { queue, entry } of taken) queue.push(entry);
  return taken.map(({ entry }) => entry.memoryRun);
}

/** Like `peek`, but newest first. Reads every entry, so it is called only if more runs are due than one claim can take. */
function newest(queues: readonly (DueQueue | undefined)[], now: number, limit: number): MemoryRun[] {
  const due = queues.flatMap((queue) => queue?.dueAt(now) ?? []);
  return due
    .sort((left, right) => (isBefore(left, right) ? 1 : -1))
    .slice(0, limit)
    .map(({ memoryRun }) => memoryRun);
}

function isBefore(left: DueEntry, right: DueEntry): boolean {
  return (
    left.wakeAt < right.wakeAt || (left.wakeAt === right.wakeAt && left.memoryRun.head.key < right.memoryRun.head.key)
  );
}

const COMPACT_MIN = 64;

/** A binary heap that drops outdated entries. */
class DueQueue {
  #heap: DueEntry[] = [];
  #compactAt = COMPACT_MIN;

  first(): DueEntry | null {
    for (;;) {
      const entry = this.#heap[0];
      if (entry === undefined) return null;
      if (entry.stamp === entry.memoryRun.dueStamp) return entry;
      this.pop();
    }
  }

  dueAt(now: number): DueEntry[] {
    return this.#heap.filter(({ memoryRun, stamp, wakeAt }) => stamp === memoryRun.dueStamp && wakeAt <= now);
  }

  push(entry: DueEntry): void {
    if (this.#heap.length >= this.#compactAt) this.#compact();
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heap[above];
      if (other === undefined || !isBefore(entry, other)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = entry;
  }

  pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      if (left === undefined) break;
      const right = heap[2 * at + 2];
      const goesRight = right !== undefined && isBefore(right, left);
      const child = goesRight ? right : left;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = 2 * at + (goesRight ? 2 : 1);
    }
    heap[at] = last;
  }

  /** A sorted array is a heap. */
  #compact(): void {
    const fresh = this.#heap.filter((entry) => entry.stamp === entry.memoryRun.dueStamp);
    this.#heap = fresh.sort((left, right) => (isBefore(left, right) ? -1 : 1));
    this.#compactAt = Math.max(COMPACT_MIN, 2 * fresh.length);
  }
}

/** Sets by name. A set exists while it has members. */
export class SetsByName<Member> {
  readonly #sets = new Map<string, Set<Member>>();

  of(name: string): Iterable<Member> {
    return this.#sets.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#sets.has(name);
  }

  add(name: string, member: Member): void {
    const set = this.#sets.get(name);
    if (set === undefined) this.#sets.set(name, new Set([member]));
    else set.add(member);
  }

  remove(name: string, member: Member): void {
    const set = this.#sets.get(name);
    if (set?.delete(member) && set.size === 0) this.#sets.delete(name);
  }
}

import type { Run, Status } from "../model/run.ts";
import type { Log } from "../runtime/log.ts";
import type { Store, WorkerRow } from "../store/store.ts";

const TEXT = "no live worker has the workflow of a run; start a worker that registers it in this version";

/** A deploy may take so long. Until then no line is logged. */
const DUE_MS_MIN = 60_000;
/** Runs that one tick reads of each group. The next tick continues after them. */
const PAGE_MAX = 50;
/** Workflows that are remembered as logged. */
const LOGGED_MAX = 1_000;
/** Separate groups: many suspended runs must not delay the report of a run that never started. */
const GROUPS: readonly (readonly Status[])[] = [["pending", "running", "compensating"], ["suspended"]];

export interface UnknownWorkflowsParts {
  readonly store: Pick<Store, "now" | "reader">;
  readonly log: Log;
  readonly worker: string;
  readonly stopped: () => boolean;
}

/**
 * Logs due runs that no live worker can execute.
 *
 * 1. A version of a workflow is logged once, with one of its runs, until a worker has it again.
 * 2. Only the live worker with the lowest id logs.
 */
export class UnknownWorkflows {
  readonly #parts: UnknownWorkflowsParts;
  readonly #cursors = new Map<readonly Status[], string>();
  readonly #logged = new Set<string>();

  constructor(parts: UnknownWorkflowsParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    const { store, worker, stopped } = this.#parts;
    const now = store.now();
    const live = (await store.reader.workers()).filter(({ expiresAt }) => expiresAt > now);
    if (stopped() || live.some(({ id }) => id < worker)) return;
    const known = new Set(live.flatMap(({ workflows }) => workflows.map(keyOf)));
    for (const key of this.#logged) if (known.has(key)) this.#logged.delete(key);
    for (const group of GROUPS) {
      const after = this.#cursors.get(group);
      const cursor = after === undefined ? {} : { cursor: after };
      const page = await store.reader.list({ status: group, limit: PAGE_MAX, ...cursor });
      if (stopped()) return;
      if (page.cursor === null) this.#cursors.delete(group);
      else this.#cursors.set(group, page.cursor);
      for (const run of page.items) if (isOverdue(run, now) && !known.has(keyOfRun(run))) this.#report(run, live);
    }
  }

  #report(run: Run, live: readonly WorkerRow[]): void {
    const key = keyOfRun(run);
    if (this.#logged.has(key) || this.#logged.size >= LOGGED_MAX) return;
    this.#logged.add(key);
    const { id, workflow, version, wakeAt: dueAt } = run;
    const others = live.flatMap(({ workflows }) => workflows.filter(({ name }) => name === workflow));
    const versions = [...new Set(others.map((other) => other.version))].sort((left, right) => left - right);
    this.#parts.log("warn", TEXT, { run: id, workflow, version, dueAt, workers: live.length, versions });
  }
}

function isOverdue({ owner, wakeAt }: Run, now: number): boolean {
  return owner === null && wakeAt !== null && wakeAt <= now - DUE_MS_MIN;
}

function keyOf({ name, version }: { readonly name: string; readonly version: number }): string {
  return `${version} ${name}`;
}

function keyOfRun({ workflow: name, version }: Run): string {
  return keyOf({ name, version });
}

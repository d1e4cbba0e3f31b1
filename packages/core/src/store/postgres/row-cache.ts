import { isTerminal } from "../../model/run.ts";
import type { KnownRun, RunCache } from "./known-rows.ts";
import type { StagedRun } from "./staged-runs.ts";

/** Longer inboxes are not cached. */
export const INBOX_CACHED_MAX = 16;

/**
 * The runs of this process's workers as the last commits left them. An entry may be stale: the database compares `rev` before it writes.
 * The oldest entry is evicted first.
 */
export class HeadCache implements RunCache {
  readonly #max: number;
  readonly #isOurs: (owner: string) => boolean;
  readonly #runs = new Map<string, KnownRun>();

  /** `isOurs` returns whether the owner is a worker of this process. Other runs are not cached: they change elsewhere. */
  constructor(max: number, isOurs: (owner: string) => boolean) {
    this.#max = max;
    this.#isOurs = isOurs;
  }

  get(runId: string): KnownRun | undefined {
    return this.#runs.get(runId);
  }

  put(known: KnownRun): void {
    const { head } = known;
    if (isTerminal(head.status) || head.owner === null || !this.#isOurs(head.owner)) {
      this.#runs.delete(head.id);
      return;
    }
    this.#runs.set(head.id, known);
    if (this.#runs.size <= this.#max) return;
    for (const oldest of this.#runs.keys()) {
      this.#runs.delete(oldest);
      return;
    }
  }

  /** Caches a run that was claimed or read, unless a later commit was answered first. */
  learnRead(known: KnownRun): void {
    const before = this.#runs.get(known.head.id);
    if ((before?.rev ?? 0) >= known.rev) return;
    // Every commit that this process sent for the run was decided over the cached row.
    const firm = known.firm || before !== undefined;
    this.put({ ...known, firm, inbox: (known.inbox?.length ?? 0) > INBOX_CACHED_MAX ? null : known.inbox });
  }

  delete(runId: string): void {
    this.#runs.delete(runId);
  }

  clear(): void {
    this.#runs.clear();
  }

  /** Caches a run as a commit left it. */
  learn(run: StagedRun): void {
    if (!run.touched) return;
    const rev = run.known === null ? 1 : run.known.rev + (run.saved ? 1 : 0);
    const { head, wait, newest } = run;
    const awaited = wait === null ? null : { messages: wait.messages, children: wait.children };
    this.put({ rev, head, wait: awaited, newest, inbox: inboxAfter(run), firm: true });
  }
}

function inboxAfter({ known, created, added, taken }: StagedRun): KnownRun["inbox"] {
  const before = created !== null ? [] : known?.inbox;
  if (before === null || before === undefined) return null;
  if (added.length === 0 && taken === null) return before;
  const after = [...before, ...added].filter(({ n }) => !taken?.has(n));
  return after.length > INBOX_CACHED_MAX ? null : after;
}

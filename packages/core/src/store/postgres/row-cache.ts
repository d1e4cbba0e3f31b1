import { isTerminal } from "../../model/run.ts";
import type { KnownRun, RunCache } from "./known-rows.ts";
import type { StagedRun } from "./staged-runs.ts";

/** Longer inboxes are read again when they are needed. */
const INBOX_MAX = 16;

/**
 * What the last commits left of runs that are worked on here. It may be out of date: the database compares `rev` before it
 * writes. A bounded number, the longest known going first.
 */
export class HeadCache implements RunCache {
  readonly #max: number;
  readonly #isOurs: (owner: string) => boolean;
  readonly #runs = new Map<string, KnownRun>();

  /** `isOurs`: of workers of this process. What others work on has changed when it is next looked at. */
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

  /** Remembers what a claim has made of a run, or what was read of it; the answer may come after that of a later commit. */
  learnRead(known: KnownRun): void {
    const before = this.#runs.get(known.head.id);
    if ((before?.rev ?? 0) >= known.rev) return;
    // Whatever this process has sent for the run was for what it had remembered.
    const firm = known.firm || before !== undefined;
    this.put({ ...known, firm, inbox: (known.inbox?.length ?? 0) > INBOX_MAX ? null : known.inbox });
  }

  delete(runId: string): void {
    this.#runs.delete(runId);
  }

  clear(): void {
    this.#runs.clear();
  }

  /** Remembers what a commit has made of a run. */
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
  return after.length > INBOX_MAX ? null : after;
}

import type { Outcome, RecordKind } from "../model/record.ts";
import type { RetryPolicy } from "../model/retry.ts";
import type { Post, StoredDocument } from "../model/transition.ts";

/** How a command ended, as the program gets it. */
export type Completion =
  | { readonly outcome: "ok"; readonly value: unknown; readonly detail: string | null }
  | { readonly outcome: "failed"; readonly error: Error; readonly detail: string | null }
  | { readonly outcome: "timedOut" };

interface Issued {
  /** The kind of the record that will complete it. */
  readonly record: RecordKind;
  readonly location: string;
  /** The program's time when it was issued. */
  readonly issuedAt: number;
  /** Hands the completion to the program. Called once. */
  settle(completion: Completion): void;
}

/** What a step body is given. */
export interface StepInfo {
  /** 1 for the first try. */
  readonly attempt: number;
  /** Aborted on timeout, on cancel and when the run is lost to another worker. */
  readonly signal: AbortSignal;
  /** The same for every try of this step of this run: hand it to services that know such keys. */
  readonly idempotencyKey: string;
}

/** How a completed step is undone. */
export interface StepRollback {
  readonly run: (value: unknown, info: StepInfo) => unknown;
  readonly retry: RetryPolicy;
  readonly shouldRetry: ((error: Error, attempt: number) => boolean) | null;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
}

export interface StepCommand extends Issued {
  readonly kind: "step";
  readonly body: (info: StepInfo) => unknown;
  /** Called in place of `body`, inside the store's own transaction. */
  readonly transact?: (tx: unknown, info: StepInfo) => unknown;
  readonly retry: RetryPolicy;
  readonly shouldRetry: ((error: Error, attempt: number) => boolean) | null;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
  readonly ephemeral: boolean;
  readonly idempotencyKey: string | null;
  /** Where it can be undone. */
  readonly rollback?: StepRollback | null;
  /** Tries that failed and are recorded. */
  attempts: number;
  /** When the next try may begin, after a failed one. */
  retryAt: number;
}

/** One thing that can end a wait. */
export type Arm =
  | { readonly kind: "message"; readonly name: string; readonly as: string }
  | { readonly kind: "event"; readonly topic: string; readonly as: string }
  /** The end of the run `child`, which was started at `location`. */
  | { readonly kind: "child"; readonly location: string; readonly child: string; readonly as: string };

export interface WaitCommand extends Issued {
  readonly kind: "wait";
  readonly arms: readonly Arm[];
  /** How many entries end it; they are received together. */
  readonly count: number;
  /** Its value is the list of what it received; at the deadline, of what is there. */
  readonly many: boolean;
  readonly until: number | null;
  /** What the deadline means: the sleep is over (`ok`), the `timer` arm won (`ok`), or time is up (`timedOut`). */
  readonly atDeadline: { readonly outcome: Extract<Outcome, "ok" | "timedOut">; readonly detail: string | null };
  /** Created with it, and again whenever it is open where a journal ends: those that are there by then stay as they are. */
  readonly documents?: readonly StoredDocument[];
}

export interface PostCommand extends Issued {
  readonly kind: "post";
  readonly post: Post;
  /** What the program gets, at once. */
  readonly value: unknown;
  readonly detail: string | null;
}

/** A note in the journal that completes at once and is written with whatever comes next: nothing waits for it. */
export interface MarkCommand extends Issued {
  readonly kind: "mark";
  readonly value: unknown;
  readonly detail: string | null;
  /** Rounds of this loop that nobody will ask for any more, once the mark is written. */
  readonly trim: { readonly loop: string; readonly below: number } | null;
}

export type Command = StepCommand | WaitCommand | PostCommand | MarkCommand;

import type { Schedule } from "./schedule.ts";

/** What can be wrong with a workflow. */
export type FindingKind =
  /** An effect happened more often than it should: a step is not idempotent. */
  | "twice"
  /** An effect did not happen. */
  | "lost"
  /** The code does not do the same in every replay. */
  | "nondeterminism"
  /** An effect of the workflow's function itself: it happens again in every replay. */
  | "outside"
  /** A call of ctx whose answer nobody waits for. */
  | "unawaited"
  /** A step failed for good, and nothing came of it. */
  | "swallowed"
  /** The run failed or was cancelled, and something that it did is left. */
  | "uncompensated"
  /** The result depends on what goes wrong, or on the order in which things end. */
  | "result"
  /** The run does not come to its end. */
  | "stuck";

/** One thing that is wrong, with the smallest schedule that shows it. */
export interface Finding {
  readonly kind: FindingKind;
  /** The step, effect or call that it is about. */
  readonly subject: string;
  /** In one sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
  /** Plays it again: `explore(workflow, input, { schedule })`. */
  readonly schedule: Schedule;
  /** What happened, line by line. */
  readonly story: readonly string[];
}

/** A finding before its schedule is made small and its story is told. */
export type Fact = Pick<Finding, "kind" | "subject" | "message">;

export const FIXES: Readonly<Record<FindingKind, string>> = {
  twice:
    "A body runs again when its process dies before what it did is stored. Hand `idempotencyKey` to the service, or let the body look first.",
  lost: "Await what must happen, and don't make it `ephemeral`.",
  nondeterminism:
    "The code is replayed from its journal and has to do the same each time: use ctx.now(), ctx.random() and ctx.uuid(), keep no state outside of it, and do the rest in a step.",
  outside: "Put it in a step: what a workflow's function does itself happens again in every replay.",
  unawaited: "Await it: a run may end before it is done, and its failure is nobody's.",
  swallowed: "Let the failure pass, do something about it, or say that it may fail: ctx.tryStep, or `mayFail`.",
  uncompensated: "Give the step a `rollback`, or say that its effect stays: `stays: true`.",
  result: "Let the result depend on what steps gave, not on the order in which they ended or on how often they ran.",
  stuck: "Let the run wait for something that comes, or give the wait a timeout.",
};

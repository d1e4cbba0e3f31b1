import type { Schedule } from "./schedule.ts";

/** The kinds of faults of a workflow. */
export type FindingKind =
  /** An effect happened more often than without faults: a step is not idempotent. */
  | "twice"
  /** An effect did not happen. */
  | "lost"
  /** The workflow function differs between replays. */
  | "nondeterminism"
  /** An effect outside every step: it happens again in every replay. */
  | "outside"
  /** The result of a ctx call is never awaited. */
  | "unawaited"
  /** A step failed permanently and the result did not change, or a rejection was not handled. */
  | "swallowed"
  /** An effect of a failed or cancelled run was not undone. */
  | "uncompensated"
  /** The result depends on faults, or on the order in which steps end. */
  | "result"
  /** The run does not end. */
  | "stuck";

/** A fault of a workflow, with the smallest schedule that shows it. */
export interface Finding {
  readonly kind: FindingKind;
  /** The step, effect or call at fault. */
  readonly subject: string;
  /** The fault in one sentence. */
  readonly message: string;
  /** How to fix the workflow. */
  readonly fix: string;
  /** The schedule, to execute it again: `explore(workflow, input, { schedule })`. */
  readonly schedule: Schedule;
  /** The events of the schedule, in order. */
  readonly story: readonly string[];
}

/** A finding before its schedule is simplified. */
export type Fact = Pick<Finding, "kind" | "subject" | "message">;

export const FIXES: Readonly<Record<FindingKind, string>> = {
  twice:
    "A step body runs again if its process crashes before the result is stored. Pass `idempotencyKey` to the service, or check in the body whether the effect has already happened.",
  lost: "Await the call that has the effect, and do not make it `ephemeral`.",
  nondeterminism:
    "The function is replayed from its journal and must make the same calls each time. Use ctx.now(), ctx.random() and ctx.uuid(), keep no state outside the function, and move other calls into a step.",
  outside: "Move the effect into a step: code outside steps runs again in every replay.",
  unawaited: "Await the call: the run may end before it completes, and its failure is not handled.",
  swallowed: "Let the failure end the run, handle it, or declare that the step may fail: use ctx.tryStep or `mayFail`.",
  uncompensated: "Give the step a `rollback`, or declare that its effect stays: `stays: true`.",
  result:
    "Compute the result from the values of the steps only, not from the order in which they end or how often they run.",
  stuck: "Send the message or event that the run waits for, or give the wait a timeout.",
};

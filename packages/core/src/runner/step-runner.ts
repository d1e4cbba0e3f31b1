import { durationText } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Failure, toError, toFailure } from "../model/failure.ts";
import { readingOf } from "../model/payload.ts";
import { textOf } from "../model/payload-values.ts";
import { UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, Completion, StepCommand } from "../workflow/command.ts";
import type { StepFailure } from "../workflow/ctx.ts";
import { failurePayload } from "./failure-payload.ts";
import { decideRetry, plainRetryMs } from "./retry-decision.ts";
import type { SessionServices, SessionStateListener } from "./session-ports.ts";
import { firstOf, hasMember, membersOf, type SmallSet, withMember, withoutMember } from "./small-set.ts";
import { type AttemptResult, StepAttempt, type StepAttemptListener } from "./step-attempt.ts";

/** Error codes of a transaction that no retry can cure. */
const FINAL_CODES: ReadonlySet<unknown> = new Set([
  "TX_UNSUPPORTED",
  "TX_ASYNC",
  "TX_STATEMENT",
  "PAYLOAD_UNSUPPORTED",
  "PAYLOAD_TOO_LARGE",
]);

/** Error codes that no retry of a step can cure. */
const CRITICAL_CODES: ReadonlySet<unknown> = new Set(["CRITICAL", "CTX_IN_STEP"]);

/** A step that returns to the event loop later than this is reported. */
const BLOCKED_MS_MIN = 100;

/** A step whose body starts when every record up to `afterSeq` is durable. */
interface ScheduledStep {
  readonly step: StepCommand;
  readonly afterSeq: number;
}

/**
 * Executes the step bodies of one session.
 *
 * 1. A body starts only when every record up to the seq it was scheduled for is durable.
 * 2. No body starts while the ownership of the run is unknown.
 * 3. The result of an aborted attempt is discarded.
 * 4. While the run is stopping, the results of running attempts are recorded, and no other attempt starts.
 * 5. A held session starts no attempt.
 * 6. A body runs in the asynchronous context of the call that requested the step, or in the empty one.
 */
export class StepRunner implements StepAttemptListener {
  readonly #services: SessionServices;
  readonly #runId: string;
  readonly #listener: Pick<SessionStateListener, "onAttemptEnd" | "onBlocked" | "onTransaction">;
  #scheduled: SmallSet<ScheduledStep> = null;
  #attempts: SmallSet<StepAttempt> = null;
  #durableSeq: number;
  #ownershipUnknown = false;
  /** Whether the run is stopping: no attempt starts, and none is retried. */
  #isStopping = false;
  /** Whether the run is about to be paused: no attempt starts. */
  #isHeld = false;

  constructor(
    services: SessionServices,
    run: { readonly id: string; readonly durableSeq: number },
    listener: Pick<SessionStateListener, "onAttemptEnd" | "onBlocked" | "onTransaction">,
  ) {
    this.#services = services;
    this.#runId = run.id;
    this.#durableSeq = run.durableSeq;
    this.#listener = listener;
  }

  /** Whether an attempt is running or scheduled. */
  get busy(): boolean {
    return this.#attempts !== null || this.#scheduled !== null;
  }

  /** Whether an attempt is running. */
  get attempting(): boolean {
    return this.#attempts !== null;
  }

  /** Whether an attempt of this step is running. */
  runs(step: Command): boolean {
    for (const attempt of membersOf(this.#attempts)) if (attempt.step === step) return true;
    return false;
  }

  /** The locations of the running steps. */
  get running(): readonly string[] {
    return Array.from(membersOf(this.#attempts), ({ step }) => step.location);
  }

  get ownershipUnknown(): boolean {
    return this.#ownershipUnknown;
  }

  requireOwnershipCheck(): void {
    this.#ownershipUnknown = true;
  }

  ownershipConfirmed(): void {
    if (!this.#ownershipUnknown) return;
    this.#ownershipUnknown = false;
    this.onDurable(this.#durableSeq);
  }

  /** Starts the step's body when every record up to `afterSeq` is durable. */
  schedule(step: StepCommand, afterSeq: number): void {
    if (afterSeq <= this.#durableSeq && this.#mayStart) this.#start(step);
    else this.#scheduled = withMember(this.#scheduled, { step, afterSeq });
  }

  onDurable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    for (let next = firstOf(this.#scheduled); next !== null; next = firstOf(this.#scheduled)) {
      if (next.afterSeq > this.#durableSeq || !this.#mayStart) return;
      this.#scheduled = withoutMember(this.#scheduled, next);
      this.#start(next.step);
    }
  }

  /** Starts no further attempt, in this session. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Unschedules these steps and aborts their running attempts. */
  drop(steps: ReadonlySet<Command>, reason: Error): void {
    for (const scheduled of membersOf(this.#scheduled))
      if (steps.has(scheduled.step)) this.#scheduled = withoutMember(this.#scheduled, scheduled);
    for (const attempt of membersOf(this.#attempts)) {
      if (!steps.has(attempt.step)) continue;
      this.#attempts = withoutMember(this.#attempts, attempt);
      attempt.abort(reason);
    }
  }

  /** Starts no further attempt. The signals of running ones are aborted, and their results are recorded. Ends with `abort`. */
  requestEnd(reason: Error): void {
    this.#isStopping = true;
    this.#scheduled = null;
    for (const attempt of membersOf(this.#attempts)) {
      if (attempt.step.transact === undefined) {
        attempt.requestEnd(reason);
        continue;
      }
      // The store has not executed it: nothing is driven while a transaction is in flight.
      this.#attempts = withoutMember(this.#attempts, attempt);
      attempt.abort(reason);
    }
  }

  abort(reason: Error): void {
    this.#isStopping = false;
    this.#scheduled = null;
    const attempts = membersOf(this.#attempts);
    this.#attempts = null;
    for (const attempt of attempts) attempt.abort(reason);
  }

  attemptSucceeded(attempt: StepAttempt, value: unknown): void {
    let stored: { readonly payload: Payload; readonly value: unknown };
    try {
      stored = this.#services.codec.roundTrip(value, `output of step ${attempt.step.location}`);
    } catch (error) {
      // The effect has happened; a retry would return the same value.
      this.#fail(attempt, error, false, "critical");
      return;
    }
    const detail = attempt.step.rollback === undefined || attempt.step.rollback === null ? null : UNDOABLE;
    const completion: Completion = { outcome: "ok", value: stored.value, detail };
    this.#end(attempt, { kind: "completed", outcome: "ok", payload: stored.payload, completion, detail });
  }

  attemptFailed(attempt: StepAttempt, error: unknown): void {
    const code = (error as { code?: unknown } | null | undefined)?.code;
    const critical = CRITICAL_CODES.has(code) || (attempt.step.transact !== undefined && FINAL_CODES.has(code));
    if (critical) this.#fail(attempt, error, false, "critical");
    else if (code === "ROLLBACK") this.#fail(attempt, error, false, "rollback");
    else this.#fail(attempt, error, true, "exhausted");
  }

  /** Whether the attempt has not ended. */
  has(attempt: StepAttempt): boolean {
    return hasMember(this.#attempts, attempt);
  }

  /** Ends an attempt that the store has executed and recorded. */
  committedByStore(attempt: StepAttempt): void {
    this.#attempts = withoutMember(this.#attempts, attempt);
  }

  get #mayStart(): boolean {
    return !this.#ownershipUnknown && !this.#isHeld;
  }

  #start(step: StepCommand): void {
    const attempt = new StepAttempt(this.#runId, step, this.#services.time.now());
    this.#attempts = withMember(this.#attempts, attempt);
    if (step.timeoutMs !== null) this.#limit(attempt, step.timeoutMs);
    if (step.transact !== undefined) {
      this.#listener.onTransaction(attempt);
      return;
    }
    this.#services.rejections.watched(this.#runId, () => attempt.run(this), step.context, step.location);
    const ms = this.#services.time.now() - attempt.startedAt;
    if (ms >= BLOCKED_MS_MIN) this.#listener.onBlocked(step.location, ms);
  }

  #limit(attempt: StepAttempt, timeoutMs: number): void {
    const { clock } = this.#services.time;
    attempt.limit(
      (callback) => clock.wakeAt(clock.now() + timeoutMs, callback),
      () => this.#timedOut(attempt, timeoutMs),
    );
  }

  #timedOut(attempt: StepAttempt, timeoutMs: number): Error {
    const error = new PawlError(
      "STEP_TIMEOUT",
      `attempt ${attempt.attempt} of step ${attempt.step.location} of run ${this.#runId} exceeded its timeout of ${durationText(timeoutMs)}`,
    );
    this.#fail(attempt, error, attempt.step.retryOnTimeout, "timeout");
    return error;
  }

  #fail(attempt: StepAttempt, thrown: unknown, mayRetry: boolean, kind: StepFailure["kind"]): void {
    const { step, attempt: count } = attempt;
    const payload = failurePayload(this.#services.codec, thrown, `failure of step ${step.location}`);
    if (!mayRetry || this.#isStopping || count >= step.retry.maxAttempts) {
      this.#failFinally(attempt, thrown, payload, kind);
      return;
    }
    const failed = { thrown, attempt: count, random01: this.#services.random.next() };
    const { retry: policy, shouldRetry, retryDelay: delay = null } = step;
    if (shouldRetry === null && delay === null) {
      this.#retry(attempt, payload, plainRetryMs(policy, failed));
      return;
    }
    const decide = async (): Promise<void> => {
      const delayMs = await decideRetry({ policy, shouldRetry, delay }, failed, (...why) => this.#warn(step, ...why));
      if (delayMs === null || this.#isStopping) this.#failFinally(attempt, thrown, payload, kind);
      else this.#retry(attempt, payload, delayMs);
    };
    this.#services.rejections.watched(this.#runId, () => void decide(), step.context);
  }

  #retry(attempt: StepAttempt, payload: Payload, delayMs: number): void {
    this.#end(attempt, { kind: "retry", payload, retryAt: this.#services.time.now() + delayMs });
  }

  #failFinally(attempt: StepAttempt, thrown: unknown, payload: Payload, kind: StepFailure["kind"]): void {
    const { value } = readingOf<Failure>(this.#services.codec, payload, `failure of step ${attempt.step.location}`);
    const error = toError(value ?? toFailure(thrown));
    this.#end(attempt, {
      kind: "completed",
      outcome: "failed",
      payload,
      completion: { outcome: "failed", error, detail: kind },
      detail: kind,
    });
  }

  #warn({ location }: StepCommand, callback: "shouldRetry" | "delay", error: unknown): void {
    const text =
      callback === "shouldRetry"
        ? "shouldRetry threw; step will not be retried"
        : "retry.delay threw or returned no duration; the other retry options determine the delay";
    this.#services.log("warn", text, { run: this.#runId, location, error: textOf(error) });
  }

  #end(attempt: StepAttempt, result: AttemptResult): void {
    if (!this.has(attempt)) return;
    this.#attempts = withoutMember(this.#attempts, attempt);
    this.#listener.onAttemptEnd(attempt, result);
  }
}

import { durationText } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Failure, toError, toFailure } from "../model/failure.ts";
import { UNDOABLE } from "../model/record.ts";
import { retryDelayMs } from "../model/retry.ts";
import type { Payload } from "../model/run.ts";
import type { Command, Completion, StepCommand } from "../workflow/command.ts";
import { failurePayload } from "./failure-payload.ts";
import type { SessionServices, SessionStateListener } from "./session-ports.ts";
import { firstOf, hasMember, membersOf, type SmallSet, withMember, withoutMember } from "./small-set.ts";
import { type AttemptResult, StepAttempt, type StepAttemptListener } from "./step-attempt.ts";

/** Why a step failed for good. */
export type StepFailureKind = "critical" | "timeout" | "exhausted" | "rollback";

/** What a transaction fails with however often it is tried. */
const HOPELESS: ReadonlySet<unknown> = new Set([
  "TX_UNSUPPORTED",
  "TX_ASYNC",
  "TX_STATEMENT",
  "PAYLOAD_UNSUPPORTED",
  "PAYLOAD_TOO_LARGE",
]);

/** A step whose body starts when everything up to `afterSeq` is durable. */
interface ScheduledStep {
  readonly step: StepCommand;
  readonly afterSeq: number;
}

/**
 * The step bodies of one session.
 *
 * 1. A body starts only when every record up to the seq it was held for is durable.
 * 2. No body starts while it is in doubt whose run it is.
 * 3. What a body brings after it was aborted is dropped.
 */
export class StepRunner implements StepAttemptListener {
  readonly #services: SessionServices;
  readonly #runId: string;
  readonly #listener: Pick<SessionStateListener, "onAttemptEnd" | "onTransaction">;
  #scheduled: SmallSet<ScheduledStep> = null;
  #attempts: SmallSet<StepAttempt> = null;
  #durableSeq: number;
  #ownershipUnknown = false;

  constructor(
    services: SessionServices,
    run: { readonly id: string; readonly durableSeq: number },
    listener: Pick<SessionStateListener, "onAttemptEnd" | "onTransaction">,
  ) {
    this.#services = services;
    this.#runId = run.id;
    this.#durableSeq = run.durableSeq;
    this.#listener = listener;
  }

  /** Whether a body runs or is about to. */
  get busy(): boolean {
    return this.#attempts !== null || this.#scheduled !== null;
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

  /** Starts the step's body when everything up to `afterSeq` is durable. */
  schedule(step: StepCommand, afterSeq: number): void {
    if (afterSeq <= this.#durableSeq && !this.#ownershipUnknown) this.#start(step);
    else this.#scheduled = withMember(this.#scheduled, { step, afterSeq });
  }

  onDurable(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    for (let next = firstOf(this.#scheduled); next !== null; next = firstOf(this.#scheduled)) {
      if (next.afterSeq > this.#durableSeq || this.#ownershipUnknown) return;
      this.#scheduled = withoutMember(this.#scheduled, next);
      this.#start(next.step);
    }
  }

  /** Gives up these steps: what is held for them does not start, and bodies that run are told why. */
  drop(steps: ReadonlySet<Command>, reason: Error): void {
    for (const held of membersOf(this.#scheduled))
      if (steps.has(held.step)) this.#scheduled = withoutMember(this.#scheduled, held);
    for (const body of membersOf(this.#attempts)) {
      if (!steps.has(body.step)) continue;
      this.#attempts = withoutMember(this.#attempts, body);
      body.abort(reason);
    }
  }

  abort(reason: Error): void {
    this.#scheduled = null;
    const bodies = membersOf(this.#attempts);
    this.#attempts = null;
    for (const body of bodies) body.abort(reason);
  }

  #start(step: StepCommand): void {
    const body = new StepAttempt(this.#runId, step, this.#services.time.now());
    this.#attempts = withMember(this.#attempts, body);
    if (step.timeoutMs !== null) this.#limit(body, step.timeoutMs);
    if (step.transact === undefined) this.#services.rejections.watched(this.#runId, () => body.run(this));
    else this.#listener.onTransaction(body);
  }

  #limit(body: StepAttempt, timeoutMs: number): void {
    const { clock } = this.#services.time;
    body.limit(
      (callback) => clock.wakeAt(clock.now() + timeoutMs, callback),
      () => this.#timedOut(body, timeoutMs),
    );
  }

  #timedOut(body: StepAttempt, timeoutMs: number): Error {
    const error = new PawlError(
      "STEP_TIMEOUT",
      `step ${body.step.location} of run ${this.#runId} took longer than its timeout of ${durationText(timeoutMs)} (try ${body.attempt})`,
    );
    this.#fail(body, error, body.step.retryOnTimeout, "timeout");
    return error;
  }

  attemptSucceeded(body: StepAttempt, value: unknown): void {
    let kept: { readonly payload: Payload; readonly value: unknown };
    try {
      kept = this.#services.codec.roundTrip(value, `output of step ${body.step.location}`);
    } catch (error) {
      // The effect has happened; trying again would bring the same value.
      this.#fail(body, error, false, "critical");
      return;
    }
    const detail = body.step.rollback === undefined || body.step.rollback === null ? null : UNDOABLE;
    const completion: Completion = { outcome: "ok", value: kept.value, detail };
    this.#end(body, { kind: "completed", outcome: "ok", payload: kept.payload, completion, detail });
  }

  /** Whether the body's try has not ended. */
  has(body: StepAttempt): boolean {
    return hasMember(this.#attempts, body);
  }

  /** The store has run the body, and its record is durable. */
  committedByStore(body: StepAttempt): void {
    this.#attempts = withoutMember(this.#attempts, body);
  }

  attemptFailed(body: StepAttempt, error: unknown): void {
    const code = (error as { code?: unknown } | null | undefined)?.code;
    const critical = code === "CRITICAL" || (body.step.transact !== undefined && HOPELESS.has(code));
    if (critical) this.#fail(body, error, false, "critical");
    else if (code === "ROLLBACK") this.#fail(body, error, false, "rollback");
    else this.#fail(body, error, true, "exhausted");
  }

  #fail(body: StepAttempt, thrown: unknown, mayRetry: boolean, kind: StepFailureKind): void {
    const { step, attempt } = body;
    const failure = toFailure(thrown);
    const payload = failurePayload(this.#services.codec, thrown, `failure of step ${step.location}`);
    if (mayRetry && attempt < step.retry.maxAttempts && this.#wantsRetry(step, toError(failure), attempt)) {
      const delayMs = retryDelayMs(step.retry, attempt, this.#services.random.next());
      this.#end(body, { kind: "retry", payload, retryAt: this.#services.time.now() + delayMs });
      return;
    }
    const error = toError(this.#services.codec.decode(payload) as Failure);
    this.#end(body, {
      kind: "completed",
      outcome: "failed",
      payload,
      completion: { outcome: "failed", error, detail: kind },
      detail: kind,
    });
  }

  #wantsRetry(step: StepCommand, error: Error, attempt: number): boolean {
    if (step.shouldRetry === null) return true;
    try {
      return step.shouldRetry(error, attempt);
    } catch (thrown) {
      this.#services.log("warn", "shouldRetry threw; the step is not tried again", {
        run: this.#runId,
        step: step.location,
        error: String(thrown),
      });
      return false;
    }
  }

  #end(body: StepAttempt, end: AttemptResult): void {
    if (!this.has(body)) return;
    this.#attempts = withoutMember(this.#attempts, body);
    this.#listener.onAttemptEnd(body, end);
  }
}

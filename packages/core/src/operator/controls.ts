import type { EngineConfig } from "../engine/config.ts";
import type { EngineEventKind, EventPublisher } from "../engine/events.ts";
import { type Runs, runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import { isPauseRequest } from "../model/inbox.ts";
import { checkTarget } from "../model/names.ts";
import type { ControlOutcome, Op, OutcomeOf, StopOp } from "../model/op.ts";
import { kinds, optionTable, readArgument } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import { isTerminal, type Payload, type Run } from "../model/run.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import type { Worker } from "../worker/worker.ts";
import type { PauseOptions } from "./action.ts";

export interface ControlParts {
  readonly config: EngineConfig;
  readonly codec: Codec;
  readonly publisher: EventPublisher;
  readonly worker: Worker;
  readonly runs: Runs;
  readonly submit: <O extends Op>(op: O) => Promise<OutcomeOf<O>>;
}

const REASON = kinds.optional(kinds.text);
const PAUSE = kinds.optional(
  kinds.either(kinds.text, kinds.options(optionTable<PauseOptions>("pause", { reason: kinds.text, now: kinds.flag }))),
);

/** Cancels, pauses and resumes runs from outside. */
export class Controls {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** Requests the owner of a run that is executed to cancel it. A run without a live owner is taken over. */
  async cancel(runId: string, given?: string): Promise<boolean> {
    const reason = readArgument(REASON, given, "reason") ?? `run ${checkTarget(runId)} was cancelled`;
    const error = new PawlError("RUN_CANCELLED", reason);
    const answer = await this.#stop(runId, { kind: "cancel", by: "owner" }, error);
    if (answer !== "requested") return await this.#cancelled(runId, answer, error);
    const { graceMs, leaseMs } = this.#parts.config;
    const isStopped = ({ status }: Run): boolean => isTerminal(status) || status === "compensating";
    const run = await this.#whenStopped(runId, isStopped, graceMs + leaseMs);
    if (run === null) return await this.#cancelled(runId, await this.#stop(runId, { kind: "cancel" }, error), error);
    if (isTerminal(run.status)) return run.status === "cancelled";
    // A run that compensates because it failed has not received the request, and removes it when it ends.
    const { reader } = this.#parts.worker;
    const inbox = await reader.inbox(runId);
    const status = (await reader.get(runId))?.status;
    if (status !== undefined && isTerminal(status)) return status === "cancelled";
    return !inbox.some((entry) => entry.kind === "cancel" && !isPauseRequest(entry));
  }

  /** Ends a run at once, without rolling it back. */
  async terminate(runId: string, given?: string): Promise<boolean> {
    const reason = readArgument(REASON, given, "reason") ?? `run ${checkTarget(runId)} was terminated`;
    const error = new PawlError("RUN_TERMINATED", reason);
    return await this.#cancelled(runId, await this.#stop(runId, { kind: "terminate" }, error), error);
  }

  /** Requests the owner of a run that is executed to pause it. A run without a live owner is taken over. */
  async pause(runId: string, given?: string | PauseOptions): Promise<void> {
    const options = readArgument(PAUSE, given, "options of pause");
    const { reason, now = false } = typeof options === "string" ? { reason: options } : (options ?? {});
    const error = new PawlError("RUN_PAUSED", reason ?? `run ${checkTarget(runId)} was paused`);
    const answer = await this.#stop(runId, now ? { kind: "pause" } : { kind: "pause", by: "owner" }, error);
    if (answer !== "requested") return await this.#paused(runId, answer, error);
    const isStopped = ({ status }: Run): boolean => isTerminal(status) || status === "paused";
    const run = await this.#whenStopped(runId, isStopped, Number.POSITIVE_INFINITY);
    if (run === null) return await this.#paused(runId, await this.#stop(runId, { kind: "pause" }, error), error);
    if (isTerminal(run.status)) throw endedBeforePause(runId);
  }

  async resume(runId: string): Promise<void> {
    const { submit, publisher, worker } = this.#parts;
    const id = checkTarget(runId);
    const outcome = await submit({ kind: "resume", runId: id, opId: this.#opId() });
    if (outcome.kind === "notFound") throw runNotFound(id);
    if (outcome.kind === "ended")
      throw new PawlError("RUN_ENDED", `run ${id} is ${outcome.status} and cannot be resumed`);
    if (outcome.kind === "refused")
      throw new PawlError("RUN_NOT_PAUSED", `run ${id} is ${outcome.status}; only a paused run can be resumed`);
    await this.#withRun(id, "run.resumed", (run) => publisher.plain("run.resumed", run));
    worker.requestPoll();
  }

  async #cancelled(runId: string, answer: ControlOutcome["kind"], error: PawlError): Promise<boolean> {
    const { runs, publisher } = this.#parts;
    const outcome = this.#reasonOf(error);
    if (answer === "compensating") {
      await this.#withRun(runId, "run.compensating", (run) => publisher.compensating(run, outcome));
      return true;
    }
    if (answer !== "done") return false;
    runs.ended(runId, { status: "cancelled", outcome });
    await this.#withRun(runId, "run.cancelled", (run) => publisher.ended(run, { status: "cancelled", outcome }));
    return true;
  }

  async #paused(runId: string, answer: ControlOutcome["kind"], error: PawlError): Promise<void> {
    if (answer !== "done") throw endedBeforePause(runId);
    await this.#withRun(runId, "run.paused", (run) => this.#parts.publisher.paused(run, this.#reasonOf(error)));
  }

  /**
   * Waits until the owner has stopped the run. Null if the run must be taken over: it has no live owner, or its owner, another process, has
   * not stopped it in time.
   */
  async #whenStopped(runId: string, isStopped: (run: Run) => boolean, limitMs: number): Promise<Run | null> {
    const { runs, worker, config } = this.#parts;
    const { clock } = config.world;
    const until = clock.now() + limitMs;
    let isStuck = false;
    const run = await runs.until(runId, async (current) => {
      if (isStopped(current)) return true;
      isStuck = current.owner !== worker.id && (clock.now() >= until || !(await this.#isAlive(current.owner)));
      return isStuck;
    });
    return isStuck ? null : run;
  }

  async #isAlive(owner: string | null): Promise<boolean> {
    if (owner === null) return false;
    const { worker, config } = this.#parts;
    const row = (await worker.reader.workers()).find(({ id }) => id === owner);
    return row !== undefined && row.expiresAt > config.store.now();
  }

  /**
   * Stops a run. `by: "owner"` lets the owner of an executed run do it. Otherwise the run is taken over, which fences its owner; if this
   * worker is the owner, its session is discarded at once.
   */
  async #stop(runId: string, how: Pick<StopOp, "kind" | "by">, error: PawlError): Promise<ControlOutcome["kind"]> {
    const { submit, worker } = this.#parts;
    const id = checkTarget(runId);
    const discard = worker.capture(id);
    const answer = await submit({ ...how, runId: id, opId: this.#opId(), reason: this.#reasonOf(error) });
    if (answer.kind === "notFound") throw runNotFound(id);
    if (answer.kind === "done" || answer.kind === "compensating") discard(error);
    return answer.kind;
  }

  #reasonOf(error: PawlError): Payload {
    return failurePayload(this.#parts.codec, error, "reason");
  }

  /** Publishes an event about a run. Reads the run only if the event has a listener. */
  async #withRun(runId: string, kind: EngineEventKind, publish: (run: Run) => void): Promise<void> {
    const { publisher, worker } = this.#parts;
    const run = publisher.hasListener(kind) ? await worker.reader.get(runId) : null;
    if (run !== null) publish(run);
  }

  #opId(): string {
    const { world, store } = this.#parts.config;
    return world.random.id(store.now());
  }
}

function endedBeforePause(runId: string): PawlError {
  return new PawlError("RUN_ENDED", `run ${runId} has ended and cannot be paused`);
}

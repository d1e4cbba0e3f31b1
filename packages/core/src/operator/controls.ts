import type { EngineConfig } from "../engine/config.ts";
import type { EngineEventKind, EventPublisher } from "../engine/events.ts";
import { type Runs, runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import { checkTarget } from "../model/names.ts";
import type { ControlOutcome, Op, OutcomeOf } from "../model/op.ts";
import { kinds, readArgument } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import type { Payload, Run } from "../model/run.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import type { Worker } from "../worker/worker.ts";

export interface ControlParts {
  readonly config: EngineConfig;
  readonly codec: Codec;
  readonly publisher: EventPublisher;
  readonly worker: Worker;
  readonly runs: Runs;
  readonly submit: <O extends Op>(op: O) => Promise<OutcomeOf<O>>;
}

const REASON = kinds.optional(kinds.text);

/** Cancels, pauses and resumes runs from outside. */
export class Controls {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async cancel(runId: string, given?: string): Promise<boolean> {
    const { runs, publisher } = this.#parts;
    const reason = readArgument(REASON, given, "reason") ?? `run ${checkTarget(runId)} was cancelled`;
    const error = new PawlError("RUN_CANCELLED", reason);
    const { answer, outcome } = await this.#control(runId, "cancel", error);
    if (answer === "compensating") {
      await this.#withRun(runId, "run.compensating", (run) => publisher.compensating(run, outcome));
      return true;
    }
    if (answer !== "done") return false;
    runs.ended(runId, { status: "cancelled", outcome });
    await this.#withRun(runId, "run.cancelled", (run) => publisher.ended(run, { status: "cancelled", outcome }));
    return true;
  }

  /** Ends a run at once, without rolling it back. */
  async terminate(runId: string, given?: string): Promise<boolean> {
    const { runs, publisher } = this.#parts;
    const reason = readArgument(REASON, given, "reason") ?? `run ${checkTarget(runId)} was terminated`;
    const error = new PawlError("RUN_TERMINATED", reason);
    const { answer, outcome } = await this.#control(runId, "terminate", error);
    if (answer !== "done") return false;
    runs.ended(runId, { status: "cancelled", outcome });
    await this.#withRun(runId, "run.cancelled", (run) => publisher.ended(run, { status: "cancelled", outcome }));
    return true;
  }

  async pause(runId: string, given?: string): Promise<void> {
    const reason = readArgument(REASON, given, "reason") ?? `run ${checkTarget(runId)} was paused`;
    const error = new PawlError("RUN_PAUSED", reason);
    const { answer, outcome } = await this.#control(runId, "pause", error);
    if (answer !== "done") throw new PawlError("RUN_ENDED", `run ${runId} has ended and cannot be paused`);
    await this.#withRun(runId, "run.paused", (run) => this.#parts.publisher.paused(run, outcome));
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

  /** Takes a run over, which fences its owner. If this worker is the owner, its session is discarded at once. */
  async #control(
    runId: string,
    kind: "cancel" | "terminate" | "pause",
    error: PawlError,
  ): Promise<{ readonly answer: ControlOutcome["kind"]; readonly outcome: Payload }> {
    const { submit, codec, worker } = this.#parts;
    const id = checkTarget(runId);
    const reason = failurePayload(codec, error, "reason");
    const discard = worker.capture(id);
    const answer = await submit({ kind, runId: id, opId: this.#opId(), reason });
    if (answer.kind === "notFound") throw runNotFound(id);
    if (answer.kind === "done" || answer.kind === "compensating") discard(error);
    return { answer: answer.kind, outcome: reason };
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

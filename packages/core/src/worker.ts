import { Committer } from "./coordinator/committer.ts";
import { Coordinator } from "./coordinator/coordinator.ts";
import { Ownership } from "./coordinator/ownership.ts";
import type { EngineConfig } from "./engine-config.ts";
import { type EventHub, statusEvent } from "./engine-events.ts";
import { PawlError } from "./model/errors.ts";
import { type Failure, toError } from "./model/failure.ts";
import type { AppendOp } from "./model/op.ts";
import type { Codec } from "./model/payload.ts";
import type { Payload, Run } from "./model/run.ts";
import type { RunState, Wake } from "./model/transition.ts";
import { codeProgram } from "./runner/code-program.ts";
import { failurePayload } from "./runner/failure-payload.ts";
import type { Interpreter, SessionWorld } from "./runner/session-world.ts";
import { freshlyLoaded, Sessions } from "./runner/sessions.ts";
import { Workshop } from "./runner/workshop.ts";
import { Agenda } from "./runtime/agenda.ts";
import { catchStrays, type StrayRejections } from "./runtime/stray.ts";
import type { Loaded } from "./store/store.ts";
import { StoreError } from "./store/store-error.ts";
import type { ProgramFactory } from "./workflow/program.ts";

/** Transitions in one commit, and ops that may wait for one. */
const LIMITS = { batchMax: 2_000, queueMax: 20_000 };
const CLAIM_MAX = 200;

/** How a run ended, as those who wait for it hear. */
export interface RunEnd {
  readonly status: "completed" | "failed" | "cancelled";
  readonly outcome: Payload;
}

/**
 * One engine process at work: the runs it owns, the sessions that interpret them, and the coordinator they write through.
 * This is where the circle is closed: what sessions add goes to the coordinator, and what commits bring goes to sessions.
 */
export class Worker {
  readonly id: string;
  readonly coordinator: Coordinator;
  readonly clock: Agenda;
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #hub: EventHub;
  readonly #programs: ReadonlyMap<string, ProgramFactory>;
  readonly #sessions: Sessions;
  readonly #workshop: Workshop;
  readonly #ownership: Ownership;
  readonly #strays: StrayRejections;
  readonly #onEnd: (runId: string, end: RunEnd) => void;
  #unwatch: () => void = () => {};
  #stopping = false;
  #idle: Array<() => void> = [];

  constructor(config: EngineConfig, codec: Codec, hub: EventHub, onEnd: (runId: string, end: RunEnd) => void) {
    const { world, log } = config;
    this.#config = config;
    this.#codec = codec;
    this.#hub = hub;
    this.#onEnd = onEnd;
    this.id = world.random.id(world.clock.now());
    this.clock = new Agenda(world.clock, config.timerResolutionMs);
    this.#sessions = new Sessions({
      workingMax: config.concurrency,
      restingMax: config.hotRuns,
      restingBytesMax: config.hotBytes,
    });
    this.#programs = new Map(
      [...config.workflows].map(([name, workflow]) => [name, codeProgram(workflow, { ...config, codec, log })]),
    );
    this.#strays = catchStrays((runId, error) => {
      log("error", "a rejection in a run's code was handled by nobody", { run: runId, error: String(error) });
      hub.emit({ kind: "unhandledRejection", runId, error });
    });
    this.coordinator = this.#createCoordinator();
    this.#ownership = this.#createOwnership();
    this.#workshop = new Workshop(
      {
        worker: this.id,
        programs: this.#programs,
        sessions: this.#sessions,
        log,
        read: (runId, afterSeq) => this.#read(runId, afterSeq),
        own: (view) => this.coordinator.own(view),
        disown: (runId) => this.coordinator.disown(runId),
        onLost: (run, reason) => hub.emit({ kind: "run.lost", runId: run.id, workflow: run.workflow, reason }),
        onUnreadable: (run, error) => this.#park(run, error),
      },
      this.#sessionWorld(),
    );
  }

  /** Whether a run started here can be worked on here, at once. */
  canTake(workflow: string): boolean {
    return !this.#stopping && this.#sessions.room > 0 && this.#programs.has(workflow);
  }

  /** Whether this process hears of the run's end by itself. */
  hears(runId: string): boolean {
    return this.#sessions.get(runId) !== undefined;
  }

  async start(): Promise<void> {
    this.#unwatch = this.#config.store.watch(() => this.#ownership.kick());
    if (this.#programs.size > 0) await this.#ownership.start();
  }

  /** Interprets a run that was created a moment ago with this worker as its owner. */
  take(run: Run): void {
    this.#workshop.interpret(freshlyLoaded(run));
  }

  /** Asks for work now: a run may have become claimable. */
  kick(): void {
    this.#ownership.kick();
  }

  async recover(): Promise<{ readonly freed: number; readonly claimed: number; readonly due: number }> {
    const freed = await this.#ownership.beat();
    return { freed, ...(await this.#ownership.look()) };
  }

  /** A run was taken over from outside, by a call to this very process. */
  letGo(runId: string, reason: Error): void {
    this.#workshop.forget(runId, reason);
  }

  /** Stops claiming, waits until nothing works or time is up, gives back what still does. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    this.#ownership.hold();
    this.#unwatch();
    if (this.#sessions.working > 0 && drainMs > 0) await this.#workEnded(drainMs);
    this.#workshop.close();
    for (const session of this.#sessions.all()) if (!session.resting) session.release();
    await this.coordinator.drained();
    this.#ownership.stop();
    this.#forgetAll(new PawlError("ENGINE_STOPPED", "the engine is shut down"));
    if (this.#programs.size > 0) await this.#config.store.retire(this.id);
    this.clock.clear();
    this.#strays.stop();
  }

  #workEnded(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.wakeAt(this.clock.now() + drainMs, resolve);
      this.#idle.push(resolve);
    });
  }

  #createCoordinator(): Coordinator {
    const { store, world, log, storageRetry } = this.#config;
    const committer = new Committer({
      store,
      clock: this.clock,
      random: world.random,
      policy: storageRetry,
      log,
      onDown: (error) => {
        this.#ownership.hold();
        this.#hub.emit({ kind: "store.down", error });
      },
      onUp: () => {
        if (!this.#stopping) this.#ownership.unhold();
        this.#hub.emit({ kind: "store.up" });
      },
    });
    return new Coordinator({
      store,
      committer,
      turns: world.turns,
      limits: LIMITS,
      onWakes: (wakes) => this.#woken(wakes),
      onBroken: (error) => this.#broken(error),
    });
  }

  #createOwnership(): Ownership {
    const { store, world, log, workflows, leaseMs, pollMs } = this.#config;
    return new Ownership(
      { worker: this.id, workflows: [...workflows.keys()], leaseMs, pollMs, claimMax: CLAIM_MAX },
      {
        store,
        clock: this.clock,
        turns: world.turns,
        log,
        room: () => this.#sessions.room,
        onClaimed: (runs) => this.#claimed(runs),
        onDue: (runIds) => {
          for (const runId of runIds) this.#workshop.arrived(runId);
        },
        onHeld: (held) => this.#workshop.reconcile(held),
        onLapsed: () => this.#lapsed(),
      },
    );
  }

  #sessionWorld(): SessionWorld {
    const { store, world, log } = this.#config;
    return {
      now: () => store.now(),
      clock: this.clock,
      turns: world.turns,
      random: world.random,
      codec: this.#codec,
      log,
      within: (runId, call) => this.#strays.within(runId, call),
      enlist: (session) => this.coordinator.enlist(session),
      committed: (session, op) => this.#committed(session, op),
      woke: (session) => {
        this.#sessions.woke(session);
        this.#tell("run.woken", session.run);
      },
      rested: (session) => this.#rested(session),
      ended: (session) => this.#ended(session),
      lost: (session, reason) => this.#workshop.lost(session, reason),
    };
  }

  async #read(runId: string, afterSeq: number | undefined): Promise<{ readonly loaded: Loaded | null } | null> {
    try {
      return { loaded: await this.#config.store.load(runId, afterSeq) };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // What is held or due is found again at the next beat or poll.
      this.#config.log("warn", "a run could not be read; it is tried again", { run: runId, code: error.code });
      return null;
    }
  }

  #claimed(runs: readonly Run[]): void {
    for (const run of runs) {
      this.#workshop.forget(run.id, new PawlError("OWNERSHIP_LOST", `run ${run.id} was claimed anew`));
      this.#tell("run.claimed", run);
      if (run.claims > this.#config.claimsMax) {
        const message = `run ${run.id} was claimed ${run.claims - 1} times without making progress: it ends the processes that work on it`;
        this.#park(run, new PawlError("POISONED", message));
      } else {
        this.#workshop.arrived(run.id);
      }
    }
  }

  /** Fails a run that no worker can bring forward. */
  #park(run: Run, error: unknown): void {
    const failure = failurePayload(this.#codec, error, `failure of run ${run.id}`);
    const op = { kind: "fail", runId: run.id, opId: `fail:${run.id}:${run.epoch}`, epoch: run.epoch, failure } as const;
    void this.coordinator.submit(op).then(
      (outcome) => {
        if (outcome.kind === "done") this.#tellEnd(run, { status: "failed", outcome: failure });
      },
      (reason: unknown) =>
        this.#config.log("error", "a run could not be parked; the next claim tries again", {
          run: run.id,
          error: String(reason),
        }),
    );
  }

  #woken(wakes: readonly Wake[]): void {
    for (const { runId, owner } of wakes) {
      if (owner === this.id) this.#workshop.arrived(runId);
      else if (owner === null) this.#ownership.kick();
    }
  }

  #committed(session: Interpreter, op: AppendOp): void {
    if (!this.#hub.hears("record")) return;
    const { id: runId, workflow } = session.run;
    for (const record of op.records) this.#hub.emit({ kind: "record", runId, workflow, record });
  }

  #rested(session: Interpreter): void {
    this.#sessions.rested(session);
    this.#tell("run.suspended", session.run);
    this.#freed();
    const { until } = session;
    if (until === null || !session.resting) return;
    const { store } = this.#config;
    this.clock.wakeAt(this.clock.now() + Math.max(0, until - store.now()), () => {
      if (session.resting) this.#sessions.whenRoom(() => session.wake());
    });
  }

  #ended(session: Interpreter): void {
    const { run, end } = session;
    this.#sessions.remove(session);
    this.coordinator.disown(run.id);
    this.#freed();
    if (end === null) return;
    switch (end.status) {
      case "completed":
      case "failed":
      case "cancelled":
        this.#tellEnd(run, end);
        return;
      case "paused":
        this.#hub.emit(statusEvent(run, "paused", this.#errorOf(end.reason)));
        return;
      case "continued":
        this.#tell("run.continued", run);
        this.#workshop.arrived(run.id);
        return;
      case "released":
        this.#tell("run.released", run);
        return;
      case "running":
      case "suspended":
      case "resumed":
        return;
    }
  }

  #tell(kind: "run.claimed" | "run.woken" | "run.suspended" | "run.continued" | "run.released", run: Run): void {
    if (this.#hub.hears(kind)) this.#hub.emit({ kind, runId: run.id, workflow: run.workflow });
  }

  #tellEnd(run: Run, end: RunEnd & Partial<RunState>): void {
    this.#onEnd(run.id, end);
    if (this.#hub.hears(`run.${end.status}`)) {
      this.#hub.emit(statusEvent(run, end.status, end.status === "completed" ? null : this.#errorOf(end.outcome)));
    }
  }

  #errorOf(failure: Payload): Error | null {
    return failure === null ? null : toError(this.#codec.decode(failure) as Failure);
  }

  /** A slot is free: those who wait for the end of work, and runs that nobody owns, hear of it. */
  #freed(): void {
    if (this.#sessions.working === 0) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#ownership.wantsRoom) this.#ownership.kick();
  }

  #lapsed(): void {
    this.#config.log("warn", "this worker was silent for longer than its lease and lets go of its runs", {
      worker: this.id,
      runs: this.#sessions.size,
    });
    this.#hub.emit({ kind: "worker.lapsed", worker: this.id });
    this.#forgetAll(new PawlError("OWNERSHIP_LOST", "the worker was silent for longer than its lease"));
    this.#ownership.kick();
  }

  #broken(error: unknown): void {
    this.#config.log("error", "the engine stopped before it could write a wrong state", { error: String(error) });
    this.#ownership.stop();
    this.#forgetAll(new PawlError("ENGINE_BROKEN", String(error), { cause: error }));
    this.#hub.emit({ kind: "engine.broken", error });
  }

  #forgetAll(reason: Error): void {
    for (const session of this.#sessions.all()) this.#workshop.forget(session.runId, reason);
  }
}

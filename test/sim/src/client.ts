import type { SendOutcome } from "pawl";
import { type ClientRequest, REFUSAL_CODES, RETRIED_CODES } from "./client-request.ts";
import { hasEnded } from "./expected-run.ts";
import { noop } from "./noop.ts";
import { operatorRequest } from "./operator.ts";
import { START_AT } from "./scheduler.ts";
import type { ClientAction, RunPlan } from "./sim-case.ts";
import type { SimulationContext } from "./simulation-context.ts";

const PROVIDE_MS = 600;

/** Starts runs, sends, emits, controls and waits for results. A request without an answer is repeated with the same id. */
export class Client {
  readonly #simulation: SimulationContext;
  /** Messages that were answered as accepted. */
  readonly accepted: Array<{ readonly to: string; readonly id: string }> = [];
  /** Runs whose cancel was answered with true. */
  readonly cancelled = new Set<string>();
  readonly #requests = new Set<ClientRequest>();
  readonly #parked: ClientRequest[] = [];
  readonly #needed = new Set<string>();
  readonly #watched = new Set<string>();
  #provided = 0;

  constructor(simulation: SimulationContext) {
    this.#simulation = simulation;
  }

  /** True if every request has been answered. */
  get idle(): boolean {
    return this.#requests.size === 0;
  }

  /** True if the outcome of a start is unknown. */
  get isStarting(): boolean {
    return [...this.#requests].some(({ label }) => /^(start|restart|fork) /.test(label));
  }

  /** Results that are still awaited, each with its worker. */
  get watched(): readonly string[] {
    return [...this.#watched];
  }

  begin(): void {
    for (const plan of this.#simulation.case.runs) this.#plan(plan.atMs, plan.twice ? 2 : 1, () => this.#start(plan));
    for (const action of this.#simulation.case.actions) {
      this.#plan(action.atMs, "twice" in action && action.twice ? 2 : 1, () => this.#action(action));
    }
  }

  /** An engine became available. */
  wake(): void {
    for (const request of this.#parked.splice(0)) this.#ask(request);
  }

  /** Periodically sends what runs wait for and resumes paused runs, so that no run waits forever. */
  provide(): void {
    const { scheduler, monitor } = this.#simulation;
    for (const { row } of monitor.expectedRuns.values()) {
      if (this.#needed.has(row.id) || hasEnded(row)) continue;
      // A run that the first code has paused resumes by itself when the code is changed.
      if (row.status === "paused" && (row.outcome ?? "").includes('"CODE_ERROR"')) continue;
      if (row.status === "paused") this.#give(row.id, this.#control("resume", row.id));
      else if (row.status === "suspended") {
        for (const message of row.wait?.messages ?? [])
          this.#give(row.id, this.#send(row.id, message, this.#freshId()));
        for (const topic of row.wait?.topics ?? [])
          this.#give(row.id, this.#emit(topic, this.#freshId(), { deliver: "all", consume: "one" }));
      }
    }
    scheduler.at(scheduler.now + PROVIDE_MS, { actor: null, label: "provide", run: () => this.provide() });
  }

  #freshId(): string {
    this.#provided += 1;
    return `f${this.#provided}`;
  }

  #give(runId: string, request: ClientRequest): void {
    this.#needed.add(runId);
    const { answered } = request;
    this.#run({
      ...request,
      answered: (answer) => {
        this.#needed.delete(runId);
        answered(answer);
      },
    });
  }

  #plan(atMs: number, times: number, make: () => ClientRequest): void {
    for (let time = 0; time < times; time += 1) {
      const request = make();
      this.#requests.add(request);
      this.#simulation.scheduler.at(START_AT + atMs, {
        actor: null,
        label: request.label,
        run: () => this.#run(request),
      });
    }
  }

  #run(request: ClientRequest): void {
    this.#requests.add(request);
    this.#ask(request);
  }

  #ask(request: ClientRequest): void {
    const { usable, scheduler } = this.#simulation;
    if (usable.length === 0) {
      this.#parked.push(request);
      return;
    }
    const worker = scheduler.chance.pick(usable);
    const { engine } = worker;
    if (engine === null) return;
    let open = true;
    const lost = (): void => {
      if (!open) return;
      open = false;
      scheduler.at(scheduler.now + scheduler.chance.between(1, 400), {
        actor: null,
        label: `${request.label} again`,
        run: () => this.#ask(request),
      });
    };
    worker.onDeath(lost);
    request.ask(engine, worker).then(
      (answer) => {
        if (!open || worker.dead) return;
        open = false;
        this.#finish(request, answer);
      },
      (error: unknown) => {
        const code = (error as { code?: string }).code ?? "";
        if (RETRIED_CODES.has(code)) lost();
        else if (open && !worker.dead) {
          open = false;
          if (!REFUSAL_CODES.has(code))
            this.#simulation.monitor.violate("client", `${request.label} was answered with ${String(error)}`);
          this.#finish(request, null);
        }
      },
    );
  }

  #finish(request: ClientRequest, answer: unknown): void {
    if (request.done) return;
    request.done = true;
    this.#requests.delete(request);
    for (const other of this.#requests) if (other.label === request.label && other.done) this.#requests.delete(other);
    request.answered(answer);
  }

  #start(plan: RunPlan): ClientRequest {
    const { monitor } = this.#simulation;
    const { id, delayMs, deadlineMs, ttlMs } = plan;
    const options = {
      id,
      ...(delayMs > 0 ? { delay: delayMs } : {}),
      ...(deadlineMs === undefined ? {} : { deadline: deadlineMs }),
      ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
    };
    return {
      label: `start ${plan.id}`,
      ask: (engine, worker) => engine.start(worker.workflows.of(plan.program), { p: plan.program, g: 0 }, options),
      answered: () => {
        if (!monitor.expectedRuns.has(plan.id))
          monitor.violate("start", `run ${plan.id} was started but does not exist`);
        if (plan.watched) this.#watch(plan.id);
      },
      done: false,
    };
  }

  #action(action: ClientAction): ClientRequest {
    const runs = this.#simulation.case.runs;
    switch (action.kind) {
      case "send":
        return this.#send(runs[action.run]?.id ?? "", action.message, action.id, action);
      case "emit":
        return this.#emit(action.topic, action.id, action);
      case "cancel":
      case "pause":
      case "resume":
        return this.#control(action.kind, runs[action.run]?.id ?? "");
      case "rewind":
      case "retry":
      case "fork":
      case "migrate":
      case "prune":
      case "letter":
      case "restart":
        return operatorRequest(this.#simulation, action, runs[action.run]?.id ?? "");
    }
  }

  #send(
    to: string,
    message: string,
    id: string,
    { policy = "discard" }: { readonly policy?: "discard" | "broadcast" | "deadLetter" } = {},
  ): ClientRequest {
    const { monitor } = this.#simulation;
    let existed = true;
    return {
      label: `send ${to} ${message} ${id}`,
      ask: (engine) => {
        existed = monitor.expectedRuns.has(to);
        return engine.send(to, message, id, { id, onTargetTerminated: policy });
      },
      answered: (answer) => {
        const { kind } = answer as SendOutcome;
        const row = monitor.expectedRuns.get(to)?.row;
        const isThere = existed && monitor.expectedRuns.get(to)?.isGone === false;
        if (kind === "targetNotFound" && isThere)
          monitor.violate("I4", `message ${id} to run ${to} was answered with ${kind}`);
        const isOpen = row === undefined || (!hasEnded(row) && monitor.expectedRuns.get(to)?.reopened === 0);
        if (kind === "targetTerminated" && isOpen)
          monitor.violate("I4", `message ${id} to run ${to} was answered with ${kind}`);
        if (kind === "delivered" || kind === "queued" || kind === "duplicate") this.accepted.push({ to, id });
      },
      done: false,
    };
  }

  #emit(
    topic: string,
    id: string,
    { deliver, consume }: Pick<Extract<ClientAction, { kind: "emit" }>, "deliver" | "consume">,
  ): ClientRequest {
    return {
      label: `emit ${topic} ${id}`,
      ask: (engine) => engine.emit(topic, id, { id, deliver, consume }),
      answered: noop,
      done: false,
    };
  }

  #control(kind: "cancel" | "pause" | "resume", runId: string): ClientRequest {
    const { monitor } = this.#simulation;
    return {
      label: `${kind} ${runId}`,
      ask: (engine) => engine[kind](runId),
      answered: (answer) => {
        const row = monitor.expectedRuns.get(runId)?.row;
        if (kind !== "cancel" || typeof answer !== "boolean") return;
        if (answer) this.cancelled.add(runId);
        // A compensating run may have been paused meanwhile.
        const wasReopened = monitor.expectedRuns.get(runId)?.reopened !== 0;
        const ends = row !== undefined && (hasEnded(row) || row.undo === "underWay" || wasReopened);
        if (!ends)
          monitor.violate("I6", `cancel of run ${runId} was answered with ${answer}, but its status is ${row?.status}`);
      },
      done: false,
    };
  }

  /** Waits for a result as an application does. The wait ends with its engine. */
  #watch(runId: string): void {
    const { usable, scheduler, monitor } = this.#simulation;
    if (usable.length === 0) return;
    // The owner of the run may notify its waiters of the end without a read, or miss them.
    const owner = usable.find((other) => other.engineId === monitor.expectedRuns.get(runId)?.row.owner);
    const worker = owner !== undefined && scheduler.chance.roll(0.6) ? owner : scheduler.chance.pick(usable);
    const watch = `${runId} at ${worker.name}`;
    this.#watched.add(watch);
    const close = (): void => {
      this.#watched.delete(watch);
    };
    worker.onDeath(close);
    const settled = (status: string) => (): void => {
      if (worker.dead) return;
      close();
      const expectedRun = monitor.expectedRuns.get(runId);
      const row = expectedRun?.row;
      if (expectedRun?.reopened !== 0) return;
      const failed = row?.status === "failed" || row?.status === "cancelled";
      if (status === "completed" ? row?.status !== "completed" : !failed) {
        monitor.violate("result", `the result of run ${runId} was ${status}, but its status is ${row?.status}`);
      }
    };
    worker.engine
      ?.run(runId)
      .result()
      .then(settled("completed"), (error: { code?: string }) => {
        if (error.code === "RUN_FAILED" || error.code === "RUN_CANCELLED") settled("rejected")();
        else close();
      });
  }
}

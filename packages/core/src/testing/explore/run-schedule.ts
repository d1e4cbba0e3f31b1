import { createEngine, type Engine } from "../../engine/engine.ts";
import { isTerminal, type Run, type Status } from "../../model/run.ts";
import type { ProgramSettings } from "../../runner/ops/branch.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import type { Store } from "../../store/store.ts";
import type { Command } from "../../workflow/command.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import { type StepStubs, withStub } from "../step-stubs.ts";
import { wrapWorkflow } from "../wrapped-program.ts";
import { Bodies } from "./bodies.ts";
import { ClientActions, type ClientScript } from "./client-actions.ts";
import { type Effects, effectTexts } from "./effects.ts";
import { ExploreWorld, turn } from "./explore-world.ts";
import { Process, SETTINGS } from "./process.ts";
import { RunObservations, type ScheduleResult } from "./run-observations.ts";
import type { Fault, Schedule } from "./schedule.ts";
import type { Attribution, UserCodeLocation } from "./user-code-location.ts";
import { type CtxWatch, watchedCtx } from "./watched-ctx.ts";

/** By run, the calls whose results the code has not awaited. */
type UnawaitedCalls = Map<string, Map<symbol, string>>;

/** The workflow under exploration. */
export interface Subject {
  readonly workflow: AnyWorkflow;
  readonly input: unknown;
  /** All registered workflows, including `workflow`. */
  readonly workflows: readonly AnyWorkflow[];
  readonly settings: ProgramSettings;
  readonly steps: StepStubs;
  readonly effects: Effects | null;
  readonly script: ClientScript;
}

export interface RunScheduleOptions {
  readonly attribution: Attribution;
  /** If true, the story is recorded. */
  readonly withStory?: boolean;
  readonly sameRandom?: boolean;
}

export const RUN_ID = "explored";
/** Timers further away than this are heartbeats and polls, and are ignored. */
const FAR_MS = 12_000 * 86_400_000;
/** The maximum number of polls without progress at one time. */
const POLLS_MAX = 2;
/** Processes poll if nothing happens for this long. */
const POLL_MS = 1_000;
const OPEN: readonly Status[] = ["pending", "running", "suspended", "compensating"];
/** Faults after which a process may miss a wake-up. */
const LOSES_WAKE_UPS: ReadonlySet<Fault["kind"]> = new Set([
  "hints",
  "error",
  "outage",
  "delay",
  "pause",
  "clockJump",
  "skew",
]);
const ITERATIONS_MAX = 20_000;
const PROCESSES_MAX = 100;

/** Executes one schedule from the start of the run to its end. */
export async function runSchedule(
  subject: Subject,
  schedule: Schedule,
  options: RunScheduleOptions,
): Promise<ScheduleResult> {
  subject.effects?.reset();
  return await new ScheduleRun(subject, schedule, options).run();
}

class ScheduleRun {
  readonly #subject: Subject;
  readonly #schedule: Schedule;
  readonly #world = new ExploreWorld();
  readonly #store: Store = memoryStore();
  readonly #notes: RunObservations;
  readonly #bodies: Bodies;
  readonly #attribution: Attribution;
  #processes: Process[] = [];
  #started = 0;
  #storeMs = 0;
  /** True while the code makes a call whose failure it receives as a value. */
  #isTried = false;
  #polls = 0;
  readonly #losesWakeUps: boolean;

  constructor(
    subject: Subject,
    schedule: Schedule,
    { attribution, withStory = false, sameRandom = false }: RunScheduleOptions,
  ) {
    this.#subject = subject;
    this.#schedule = schedule;
    this.#losesWakeUps = schedule.faults.some(({ kind }) => LOSES_WAKE_UPS.has(kind));
    this.#notes = new RunObservations({ withStory });
    this.#attribution = attribution;
    this.#bodies = new Bodies({ world: this.#world, schedule, notes: this.#notes, attribution, sameRandom });
  }

  async run(): Promise<ScheduleResult> {
    const client = await this.#client();
    this.#launch();
    const actions = new ClientActions(client, this.#subject, this.#schedule, this.#notes, this.#world.clock);
    actions.start();
    const run = await this.#drive(client, actions);
    // The platform reports unhandled rejections at the end of a turn.
    await turn();
    for (const process of this.#processes) process.isDead = true;
    return await this.#result(client, run);
  }

  /** Advances the time until the run has ended or nothing more can happen. */
  async #drive(client: Engine, actions: ClientActions): Promise<Run | null> {
    const { clock } = this.#world;
    for (let iteration = 0; iteration < ITERATIONS_MAX; iteration += 1) {
      await this.#world.settle();
      if (await this.#replace()) continue;
      const run = await this.#store.reader.get(RUN_ID);
      if (run !== null && (isTerminal(run.status) || run.status === "paused")) return run;
      if (run?.status === "suspended" && this.#onSuspended(client)) continue;
      const due = this.#processTime(this.#losesWakeUps ? await this.#dueAt() : (run?.wakeAt ?? null));
      const isIdle = run === null || run.status === "suspended" || due !== null;
      const next = nextOf(clock.now(), [clock.nextAt, actions.nextAt], due);
      const isDue = !isIdle || (due !== null && due <= clock.now());
      if ((next === null || (isDue && next - clock.now() >= POLL_MS)) && this.#poll()) continue;
      if (next === null) return run;
      this.#polls = 0;
      clock.set(next);
      if (actions.nextAt !== null && actions.nextAt <= next) actions.next();
      else clock.fire();
    }
    throw new Error(`run not ended after ${ITERATIONS_MAX} iterations of schedule ${JSON.stringify(this.#schedule)}`);
  }

  /** Converts a time of the store's clock to the processes' clock. */
  #processTime(at: number | null): number | null {
    return at === null ? null : at - this.#storeMs;
  }

  /** The earliest due time of all open runs. */
  async #dueAt(): Promise<number | null> {
    const { items } = await this.#store.reader.list({ status: OPEN, limit: 100 });
    const times = items.flatMap(({ wakeAt }) => (wakeAt === null ? [] : [wakeAt]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Lets processes poll for a due run whose wake-up was lost. Returns false if polling is not needed or brought no progress. */
  #poll(): boolean {
    if (!this.#losesWakeUps || this.#polls === POLLS_MAX) return false;
    this.#polls += 1;
    for (const process of this.#processes) process.poll();
    return true;
  }

  /** Counts a suspension of the run. Returns true if the scenario cancels the run at this one. */
  #onSuspended(client: Engine): boolean {
    const { scenario } = this.#schedule;
    this.#notes.suspensions += 1;
    if (scenario.kind !== "cancel" || this.#notes.suspensions !== scenario.suspension) return false;
    this.#notes.log(() => "the run is cancelled while suspended");
    void client.cancel(RUN_ID, "injected cancel");
    return true;
  }

  /** Starts a successor for processes that leave. Returns true if anything changed. */
  async #replace(): Promise<boolean> {
    const leaving = this.#processes.filter((process) => process.isLeaving);
    if (leaving.length === 0) return this.#processes.some((process) => process.unpause());
    for (const process of leaving) await process.retire();
    this.#processes = this.#processes.filter((process) => !process.isDead);
    const paused = this.#processes.filter((process) => process.isLeaving);
    if (this.#started > PROCESSES_MAX) throw new Error(`run not ended by ${PROCESSES_MAX} processes`);
    this.#launch();
    await this.#world.settle();
    for (const process of paused) process.unpause();
    return true;
  }

  #launch(): void {
    this.#started += 1;
    const name = `process ${this.#started}`;
    if (this.#started > 1) this.#notes.log(() => `${name} takes over`);
    const process = new Process(name, {
      world: this.#world,
      store: this.#store,
      schedule: this.#schedule,
      notes: this.#notes,
      attribution: this.#attribution,
      otherCode: this.#userCode("other"),
      setClock: (ms) => {
        this.#storeMs += ms;
      },
    });
    this.#processes.push(process);
    process.start(this.#subject.workflows.map((workflow) => this.#wrap(workflow, process)));
  }

  async #client(): Promise<Engine> {
    const { clock, random, eventLoop } = this.#world;
    const storeClock = { now: () => clock.now() + this.#storeMs, wakeAt: clock.wakeAt.bind(clock) };
    return await createEngine({
      ...SETTINGS,
      store: this.#store,
      world: { clock: storeClock, random, eventLoop },
    });
  }

  #wrap(workflow: AnyWorkflow, process: Process): AnyWorkflow {
    const { settings, steps } = this.#subject;
    const unawaited: UnawaitedCalls = new Map();
    const watched = { ...workflow, run: this.#watchedCode(workflow, unawaited) };
    return wrapWorkflow(
      watched,
      { ...settings, store: this.#store },
      {
        issue: (command) => this.#issue(command, process, steps),
        finish: ({ kind }, { runId }) => {
          if (kind === "completed")
            for (const call of unawaited.get(runId)?.values() ?? []) this.#notes.unawaited.add(call);
        },
      },
    );
  }

  #issue(command: Command, process: Process, steps: StepStubs): Command {
    const { location } = command;
    this.#notes.issued.add(location);
    if (this.#isTried) this.#notes.tried.add(location);
    if (command.kind === "step" && command.rollback) this.#notes.hasRollback = true;
    const wrapped = this.#bodies.wrap(withStub(command, steps), process);
    const settle: Command["settle"] = (completion) => {
      this.#notes.last = location;
      command.settle(completion);
    };
    return { ...wrapped, settle };
  }

  /** The workflow function with a watched ctx, which records the calls of each run in `unawaited` until they are awaited. */
  #watchedCode(workflow: AnyWorkflow, unawaited: UnawaitedCalls): AnyWorkflow["run"] {
    return (ctx, input) => {
      const calls = new Map<symbol, string>();
      unawaited.set(ctx.runId, calls);
      const watch: CtxWatch = {
        calling: (isTried, call) => this.#calling(isTried, call),
        called: (call) => {
          const id = Symbol(call);
          calls.set(id, call);
          return () => calls.delete(id);
        },
      };
      return this.#attribution.at(this.#userCode("code"), () => workflow.run(watchedCtx(ctx, watch), input));
    };
  }

  #calling<Value>(isTried: boolean, call: () => Value): Value {
    const before = this.#isTried;
    this.#isTried = isTried;
    try {
      return call();
    } finally {
      this.#isTried = before;
    }
  }

  #userCode(kind: "code" | "other"): UserCodeLocation {
    const notes = this.#notes;
    return {
      kind,
      now: () => this.#world.clock.now(),
      random: () => 0,
      onNondeterministicCall: (call) => notes.nondeterministicCalls.push({ call, after: notes.last }),
      onEffect: (effect) => {
        if (kind === "other") return;
        notes.outside.add(effect);
        notes.log(() => `  → ${effect}, outside every step`);
      },
      onUnhandledRejection: (error) => notes.unhandled.push(String(error)),
    };
  }

  async #result(client: Engine, run: Run | null): Promise<ScheduleResult> {
    const { effects } = this.#subject;
    const hasEnded = run !== null && (isTerminal(run.status) || run.status === "paused");
    const sentence = run === null || hasEnded ? "" : (await client.explain(RUN_ID)).sentence;
    this.#notes.log(() =>
      run !== null && hasEnded ? `the run is ${run.status}` : `nothing more can happen: ${sentence}`,
    );
    const read: unknown = effects?.read();
    return {
      status: hasEnded ? run.status : null,
      outcome: run?.outcome ?? null,
      sentence,
      effects: effectTexts(this.#subject.settings.codec, read),
      leftovers: effects?.leftovers?.() ?? effectTexts(this.#subject.settings.codec, read),
      notes: this.#notes,
    };
  }
}

/** The earliest of the given times. Null if nothing more can happen. A run that is already due is checked again after POLL_MS. */
function nextOf(now: number, timers: ReadonlyArray<number | null>, due: number | null): number | null {
  const times = timers.flatMap((at) => (at === null || at - now > FAR_MS ? [] : [Math.max(at, now)]));
  if (due !== null) times.push(due > now ? due : now + POLL_MS);
  return times.length === 0 ? null : Math.min(...times);
}

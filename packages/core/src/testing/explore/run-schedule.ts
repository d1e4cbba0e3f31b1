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

/** What is explored. */
export interface Subject {
  readonly workflow: AnyWorkflow;
  readonly input: unknown;
  /** All that may run, with the workflow itself. */
  readonly workflows: readonly AnyWorkflow[];
  readonly settings: ProgramSettings;
  readonly steps: StepStubs;
  readonly effects: Effects | null;
  readonly script: ClientScript;
}

export interface RunScheduleOptions {
  readonly whose: Attribution;
  /** Whether a story is written. */
  readonly told?: boolean;
  readonly isPinned?: boolean;
}

export const RUN_ID = "explored";
/** Beats and polls lie further away than this. */
const FAR_MS = 12_000 * 86_400_000;
/** How often processes look for work at one time. */
const NUDGES_MAX = 2;
/** Processes look by themselves when nothing happens for so long. */
const LOOK_MS = 1_000;
const OPEN: readonly Status[] = ["pending", "running", "suspended", "compensating"];
/** Faults after which a process may not hear of what there is to do. */
const DEAFENS: ReadonlySet<Fault["kind"]> = new Set([
  "hints",
  "error",
  "outage",
  "delay",
  "pause",
  "clockJump",
  "skew",
]);
const ROUNDS_MAX = 20_000;
const PROCESSES_MAX = 100;

/** Plays one schedule from the start of the run to its end. */
export async function runSchedule(
  subject: Subject,
  schedule: Schedule,
  options: RunScheduleOptions,
): Promise<ScheduleResult> {
  subject.effects?.reset();
  const performance = new Performance(subject, schedule, options);
  return await performance.run();
}

class Performance {
  readonly #subject: Subject;
  readonly #schedule: Schedule;
  readonly #world = new ExploreWorld();
  readonly #store: Store = memoryStore();
  readonly #notes: RunObservations;
  readonly #bodies: Bodies;
  readonly #whose: Attribution;
  #processes: Process[] = [];
  #started = 0;
  #storeMs = 0;
  #issuesTried = false;
  #nudges = 0;
  readonly #isDeaf: boolean;

  constructor(subject: Subject, schedule: Schedule, { whose, told = false, isPinned = false }: RunScheduleOptions) {
    this.#subject = subject;
    this.#schedule = schedule;
    this.#isDeaf = schedule.faults.some(({ kind }) => DEAFENS.has(kind));
    this.#notes = new RunObservations({ told });
    this.#whose = whose;
    this.#bodies = new Bodies({ world: this.#world, schedule, notes: this.#notes, whose, isPinned });
  }

  async run(): Promise<ScheduleResult> {
    const client = await this.#client();
    this.#launch();
    const acts = new ClientActions(client, this.#subject, this.#schedule, this.#notes, this.#world.clock);
    acts.start();
    const run = await this.#drive(client, acts);
    // Rejections that nobody handles are told of at the end of a turn, and others want to live.
    await turn();
    for (const process of this.#processes) process.isDead = true;
    return await this.#played(client, run);
  }

  /** Until the run has ended or nothing more can come. */
  async #drive(client: Engine, acts: ClientActions): Promise<Run | null> {
    const { clock } = this.#world;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.#world.settle();
      if (await this.#replace()) continue;
      const run = await this.#store.reader.get(RUN_ID);
      if (run !== null && (isTerminal(run.status) || run.status === "paused")) return run;
      if (run?.status === "suspended" && this.#rests(client)) continue;
      const due = this.#byStore(this.#isDeaf ? await this.#dueAt() : (run?.wakeAt ?? null));
      const isIdle = run === null || run.status === "suspended" || due !== null;
      const next = nextOf(clock.now(), [clock.nextAt, acts.nextAt], due);
      const isDue = !isIdle || (due !== null && due <= clock.now());
      if ((next === null || (isDue && next - clock.now() >= LOOK_MS)) && this.#nudge()) continue;
      if (next === null) return run;
      this.#nudges = 0;
      clock.set(next);
      if (acts.nextAt !== null && acts.nextAt <= next) acts.next();
      else clock.fire();
    }
    throw new Error(`the run has not ended after ${ROUNDS_MAX} rounds, in ${JSON.stringify(this.#schedule)}`);
  }

  /** What is due at this time by the store's clock: when that is. */
  #byStore(at: number | null): number | null {
    return at === null ? null : at - this.#storeMs;
  }

  /** When the first of all runs is due. */
  async #dueAt(): Promise<number | null> {
    const { items } = await this.#store.reader.list({ status: OPEN, limit: 100 });
    const times = items.flatMap(({ wakeAt }) => (wakeAt === null ? [] : [wakeAt]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** A run is due and nobody knows: processes look by themselves. False: they did, and it takes time. */
  #nudge(): boolean {
    if (!this.#isDeaf || this.#nudges === NUDGES_MAX) return false;
    this.#nudges += 1;
    for (const process of this.#processes) process.nudge();
    return true;
  }

  /** The run has come to a rest; true: that was the one at which it is cancelled. */
  #rests(client: Engine): boolean {
    const { course } = this.#schedule;
    this.#notes.rests += 1;
    if (course.kind !== "cancel" || this.#notes.rests !== course.rest) return false;
    this.#notes.tell(() => "the run is cancelled while it waits");
    void client.cancel(RUN_ID, "made to be cancelled");
    return true;
  }

  /** Processes that are leaving get a successor; true: something has changed. */
  async #replace(): Promise<boolean> {
    const leaving = this.#processes.filter((process) => process.isLeaving);
    if (leaving.length === 0) return this.#processes.some((process) => process.unpause());
    for (const process of leaving) await process.bury();
    this.#processes = this.#processes.filter((process) => !process.isDead);
    const paused = this.#processes.filter((process) => process.isLeaving);
    if (this.#started > PROCESSES_MAX) throw new Error(`${PROCESSES_MAX} processes were not enough to end the run`);
    this.#launch();
    await this.#world.settle();
    for (const process of paused) process.unpause();
    return true;
  }

  #launch(): void {
    this.#started += 1;
    const name = `process ${this.#started}`;
    if (this.#started > 1) this.#notes.tell(() => `${name} takes over`);
    const process = new Process(name, {
      world: this.#world,
      store: this.#store,
      schedule: this.#schedule,
      notes: this.#notes,
      whose: this.#whose,
      elsewhere: this.#place("other"),
      setClock: (ms) => {
        this.#storeMs += ms;
      },
    });
    this.#processes.push(process);
    process.start(this.#subject.workflows.map((workflow) => this.#through(workflow, process)));
  }

  async #client(): Promise<Engine> {
    const { clock, random, eventLoop: turns } = this.#world;
    const storeClock = { now: () => clock.now() + this.#storeMs, wakeAt: clock.wakeAt.bind(clock) };
    return await createEngine({
      ...SETTINGS,
      store: this.#store,
      world: { clock: storeClock, random, eventLoop: turns },
    });
  }

  #through(workflow: AnyWorkflow, process: Process): AnyWorkflow {
    const { settings, steps } = this.#subject;
    const askedOf = new Map<string, Map<symbol, string>>();
    const watched = { ...workflow, run: this.#watchedCode(workflow, askedOf) };
    return wrapWorkflow(watched, settings, {
      issue: (command) => this.#issue(command, process, steps),
      finish: ({ kind }, { runId }) => {
        if (kind === "completed")
          for (const what of askedOf.get(runId)?.values() ?? []) this.#notes.unawaited.add(what);
      },
    });
  }

  #issue(command: Command, process: Process, steps: StepStubs): Command {
    const { location } = command;
    this.#notes.issued.add(location);
    if (this.#issuesTried) this.#notes.tried.add(location);
    if (command.kind === "step" && command.rollback) this.#notes.hasRollback = true;
    const through = this.#bodies.through(withStub(command, steps), process);
    const settle: Command["settle"] = (completion) => {
      this.#notes.last = location;
      command.settle(completion);
    };
    return { ...through, settle };
  }

  /** The workflow's function, watched: what each run of it has asked for and not waited for is in `askedOf`. */
  #watchedCode(workflow: AnyWorkflow, askedOf: Map<string, Map<symbol, string>>): AnyWorkflow["run"] {
    return (ctx, input) => {
      const asked = new Map<symbol, string>();
      askedOf.set(ctx.runId, asked);
      const watch: CtxWatch = {
        calling: (isTried, call) => this.#calling(isTried, call),
        asked: (what) => {
          const id = Symbol(what);
          asked.set(id, what);
          return () => asked.delete(id);
        },
      };
      return this.#whose.at(this.#place("code"), () => workflow.run(watchedCtx(ctx, watch), input));
    };
  }

  #calling<Value>(isTried: boolean, call: () => Value): Value {
    const before = this.#issuesTried;
    this.#issuesTried = isTried;
    try {
      return call();
    } finally {
      this.#issuesTried = before;
    }
  }

  #place(kind: "code" | "other"): UserCodeLocation {
    const notes = this.#notes;
    return {
      kind,
      now: () => this.#world.clock.now(),
      random: () => 0,
      strayed: (what) => notes.strayed.push({ what, after: notes.last }),
      note: (what) => {
        if (kind === "other") return;
        notes.outside.add(what);
        notes.tell(() => `  → ${what}, outside of every step`);
      },
      unhandled: (error) => notes.unhandled.push(String(error)),
    };
  }

  async #played(client: Engine, run: Run | null): Promise<ScheduleResult> {
    const { effects } = this.#subject;
    const hasEnded = run !== null && (isTerminal(run.status) || run.status === "paused");
    const sentence = run === null || hasEnded ? "" : (await client.explain(RUN_ID)).sentence;
    this.#notes.tell(() =>
      run !== null && hasEnded ? `the run is ${run.status}` : `nothing more can come: ${sentence}`,
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

/** The earliest of these times; null: nothing is to come. A run that is due already is looked at again in a while. */
function nextOf(now: number, timers: ReadonlyArray<number | null>, due: number | null): number | null {
  const times = timers.flatMap((at) => (at === null || at - now > FAR_MS ? [] : [Math.max(at, now)]));
  if (due !== null) times.push(due > now ? due : now + LOOK_MS);
  return times.length === 0 ? null : Math.min(...times);
}

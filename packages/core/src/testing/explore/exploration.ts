import { PawlError } from "../../model/errors.ts";
import { checkRun, type Measure } from "./check-run.ts";
import { effectTexts } from "./effects.ts";
import type { ExploreOptions } from "./explore-options.ts";
import { type Fact, FIXES, type Finding, type FindingKind } from "./finding.ts";
import { crashes, drawn, interleavingsOf, singleFaults } from "./plan.ts";
import { reportText } from "./report-text.ts";
import type { ScheduleResult } from "./run-observations.ts";
import { type RunScheduleOptions, runSchedule, type Subject } from "./run-schedule.ts";
import { type Fault, IN_ORDER, type Interleaving, interleavingKey, type Schedule } from "./schedule.ts";
import { type Attribution, inferredAttribution, trackedAttribution } from "./user-code-location.ts";

export interface ExploreReport {
  /** How many were played, those that made findings small among them. */
  readonly schedules: number;
  readonly findings: readonly Finding[];
  /** All of it, for people. */
  readonly text: string;
}

const CALM: Interleaving = { kind: "calm" };
/** More would be read by nobody. */
const FINDINGS_MAX = 12;

/** What makes what: a finding says nothing more where one of these was found. */
const CAUSES: Partial<Record<FindingKind, readonly FindingKind[]>> = {
  nondeterminism: ["nondeterminism"],
  result: ["nondeterminism", "unawaited", "outside"],
  stuck: ["nondeterminism", "unawaited"],
  lost: ["nondeterminism", "unawaited"],
  swallowed: ["unawaited"],
  twice: ["outside"],
};

/** The search for what is wrong with one workflow. */
export class Exploration {
  readonly #subject: Subject;
  readonly #options: Omit<ExploreOptions<never>, "compare"> & { readonly compare?: (output: never) => unknown };
  readonly #bases = new Map<string, ScheduleResult>();
  readonly #findings = new Map<string, Finding>();
  /** Guessed until there is a doubt: then the schedule at hand is played again, and it and all others are followed. */
  #whose: Attribution = inferredAttribution((rejected) => this.#doubt(rejected));
  #doubted: unknown[] | null = null;
  #played = 0;
  #initial: readonly string[] = [];
  #isTimed = false;
  #isRandom = false;

  constructor(subject: Subject, options: ExploreOptions<never>) {
    this.#subject = subject;
    this.#options = options;
  }

  async run(schedulesMax: number, seed: number, only: Schedule | null): Promise<ExploreReport> {
    try {
      return await this.#run(schedulesMax, seed, only);
    } finally {
      this.#whose.end();
    }
  }

  async #run(schedulesMax: number, seed: number, only: Schedule | null): Promise<ExploreReport> {
    await this.#begin();
    if (only !== null) await this.#look(only);
    else
      for await (const schedule of this.#schedules(seed)) {
        if (this.#played >= schedulesMax || this.#findings.size >= FINDINGS_MAX) break;
        await this.#look(schedule);
      }
    const findings = [...this.#findings.values()];
    return { schedules: this.#played, findings, text: reportText(this.#subject.workflow.name, this.#played, findings) };
  }

  /** How it goes when nothing goes wrong, twice, and once more slowly. */
  async #begin(): Promise<void> {
    const { effects, settings } = this.#subject;
    effects?.reset();
    this.#initial = effectTexts(settings.codec, effects?.read());
    const calm = await this.#play({ course: CALM, faults: [] });
    if (calm.status === null)
      throw new PawlError("RUN_WAITS", `${calm.sentence}. It can't be explored: give what it waits for in \`sends\``);
    this.#bases.set(interleavingKey(CALM), calm);
    const again = await this.#play({ course: CALM, faults: [] });
    const slow = await this.#play({ course: CALM, faults: [{ kind: "order", seed: IN_ORDER }] });
    this.#isRandom = again.outcome !== calm.outcome;
    this.#isTimed = slow.outcome !== calm.outcome;
    await this.#look({ course: CALM, faults: [] });
  }

  /** All with one fault, the telling ones first; then those that the seed draws. */
  async *#schedules(seed: number): AsyncGenerator<Schedule> {
    const calm = await this.#base(CALM);
    const faults = [...singleFaults(calm)];
    const first = faults.filter(({ kind }) => kind !== "error" && kind !== "delay" && kind !== "clockJump");
    yield* on(CALM, first.slice(0, Math.ceil(first.length / 2)));
    const courses = interleavingsOf(calm);
    for (const course of courses) yield { course, faults: [] };
    yield* on(CALM, first.slice(Math.ceil(first.length / 2)));
    for (const course of courses) {
      const base = await this.#base(course);
      yield* on(course, [...crashes(base.notes)]);
    }
    yield* on(
      CALM,
      faults.filter((fault) => !first.includes(fault)),
    );
    const bases = [{ course: CALM, played: calm }];
    for (const course of courses) bases.push({ course, played: await this.#base(course) });
    yield* drawn(seed, bases);
  }

  async #base(course: Interleaving): Promise<ScheduleResult> {
    const key = interleavingKey(course);
    const known = this.#bases.get(key);
    if (known !== undefined) return known;
    const played = await this.#play({ course, faults: [] });
    this.#bases.set(key, played);
    return played;
  }

  async #look(schedule: Schedule): Promise<void> {
    for (const fact of await this.#facts(schedule)) {
      const key = `${fact.kind} ${fact.subject}`;
      if (this.#findings.has(key) || this.#isKnown(fact)) continue;
      this.#findings.set(key, await this.#finding(fact, schedule));
    }
  }

  /** Whether it follows from what was found before. */
  #isKnown({ kind }: Fact): boolean {
    const causes = CAUSES[kind] ?? [];
    return [...this.#findings.values()].some((finding) => causes.includes(finding.kind));
  }

  async #facts(schedule: Schedule): Promise<readonly Fact[]> {
    const isBase = schedule.faults.length === 0;
    const base = await this.#base(schedule.course);
    const played = isBase ? base : await this.#play(schedule);
    const calm = schedule.course.kind === "calm" && isBase ? null : await this.#base(CALM);
    const facts = checkRun(schedule, played, this.#measure(isBase ? null : base, calm));
    if (!facts.some(({ kind }) => kind === "result")) return facts;
    // A body that ran again may have drawn another number. That is no fault: with the same one the result has to be the same.
    const pinned = checkRun(schedule, await this.#play(schedule, { isPinned: true }), this.#measure(base, calm));
    return pinned.some(({ kind }) => kind === "result") ? facts : facts.filter(({ kind }) => kind !== "result");
  }

  #measure(base: ScheduleResult | null, calm: ScheduleResult | null): Measure {
    const { allOrNothing = null, mayFail = [], compare = null } = this.#options;
    return {
      codec: this.#subject.settings.codec,
      base,
      calm,
      initial: this.#initial,
      isTimed: this.#isTimed,
      isRandom: this.#isRandom,
      allOrNothing,
      mayFail: new Set(mayFail),
      project: compare as ((output: unknown) => unknown) | null,
    };
  }

  /** Leaves out one fault after the other, as long as the same is found; then tells the story of what is left. */
  async #finding(fact: Fact, schedule: Schedule): Promise<Finding> {
    let { faults } = schedule;
    for (let index = 0; index < faults.length && faults.length > 1; ) {
      const fewer = faults.filter((_, other) => other !== index);
      const shown = await this.#facts({ ...schedule, faults: fewer });
      if (shown.some(({ kind, subject }) => kind === fact.kind && subject === fact.subject)) faults = fewer;
      else index += 1;
    }
    const small: Schedule = { ...schedule, faults: faults as readonly Fault[] };
    const { notes } = await this.#play(small, { told: true });
    return { ...fact, fix: FIXES[fact.kind], schedule: small, story: notes.story };
  }

  async #play(schedule: Schedule, options: Omit<RunScheduleOptions, "whose"> = {}): Promise<ScheduleResult> {
    this.#played += 1;
    const played = await runSchedule(this.#subject, schedule, { ...options, whose: this.#whose });
    const rejected = this.#doubted;
    if (rejected === null) return played;
    this.#doubted = null;
    this.#whose.end();
    this.#whose = trackedAttribution();
    const again = await runSchedule(this.#subject, schedule, { ...options, whose: this.#whose });
    // What is not the workflow's goes its usual way.
    if (again.notes.unhandled.length === 0) for (const error of rejected) void Promise.reject(error);
    return again;
  }

  #doubt(rejected: readonly unknown[]): void {
    this.#doubted = [...(this.#doubted ?? []), ...rejected];
  }
}

function on(course: Interleaving, faults: readonly Fault[]): readonly Schedule[] {
  return faults.map((fault) => ({ course, faults: [fault] }));
}

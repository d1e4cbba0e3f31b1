import { PawlError } from "../../model/errors.ts";
import { type CheckContext, checkRun } from "./check-run.ts";
import { effectTexts } from "./effects.ts";
import type { ExploreOptions } from "./explore-options.ts";
import { type Fact, FIXES, type Finding, type FindingKind } from "./finding.ts";
import { crashes, drawn, scenariosOf, singleFaults } from "./plan.ts";
import { reportText } from "./report-text.ts";
import type { ScheduleResult } from "./run-observations.ts";
import { type RunScheduleOptions, runSchedule, type Subject } from "./run-schedule.ts";
import { type Fault, IN_ORDER, type Scenario, type Schedule, scenarioKey } from "./schedule.ts";
import { type Attribution, inferredAttribution, trackedAttribution } from "./user-code-location.ts";

export interface ExploreReport {
  /** The number of executed schedules, including those executed to simplify findings. */
  readonly schedules: number;
  readonly findings: readonly Finding[];
  /** The findings as a report for people. */
  readonly text: string;
}

const NORMAL: Scenario = { kind: "normal" };
/** The exploration ends after this many findings. */
const FINDINGS_MAX = 12;

/** The kinds that cause each kind: a finding is omitted if one of its causes was found. */
const CAUSES: Partial<Record<FindingKind, readonly FindingKind[]>> = {
  nondeterminism: ["nondeterminism"],
  result: ["nondeterminism", "unawaited", "outside"],
  stuck: ["nondeterminism", "unawaited"],
  lost: ["nondeterminism", "unawaited"],
  swallowed: ["unawaited"],
  twice: ["outside"],
};

/** Executes the schedules of one workflow and collects the findings. */
export class Exploration {
  readonly #subject: Subject;
  readonly #options: Omit<ExploreOptions<never>, "compare"> & { readonly compare?: (output: never) => unknown };
  readonly #bases = new Map<string, ScheduleResult>();
  readonly #findings = new Map<string, Finding>();
  /**
   * Inferred until a call cannot be attributed. That schedule is then executed again with exact tracking, as are all later ones,
   * because exact tracking makes each promise cost more.
   */
  #attribution: Attribution = inferredAttribution((rejected) => this.#onUnattributed(rejected));
  /** Rejections of the current schedule that belong to unknown code. Null if every call was attributed. */
  #unattributed: unknown[] | null = null;
  #executed = 0;
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
      this.#attribution.end();
    }
  }

  async #run(schedulesMax: number, seed: number, only: Schedule | null): Promise<ExploreReport> {
    await this.#executeNormal();
    if (only !== null) await this.#check(only);
    else
      for await (const schedule of this.#schedules(seed)) {
        if (this.#executed >= schedulesMax || this.#findings.size >= FINDINGS_MAX) break;
        await this.#check(schedule);
      }
    const findings = [...this.#findings.values()];
    return {
      schedules: this.#executed,
      findings,
      text: reportText(this.#subject.workflow.name, this.#executed, findings),
    };
  }

  /** Executes the workflow without faults twice, and once slowly, to learn whether its output is random or depends on time. */
  async #executeNormal(): Promise<void> {
    const { effects, settings } = this.#subject;
    effects?.reset();
    this.#initial = effectTexts(settings.codec, effects?.read());
    const normal = await this.#execute({ scenario: NORMAL, faults: [] });
    if (normal.status === null)
      throw new PawlError("RUN_WAITS", `${normal.sentence}; pass the message or event that it waits for in \`sends\``);
    this.#bases.set(scenarioKey(NORMAL), normal);
    const second = await this.#execute({ scenario: NORMAL, faults: [] });
    const slow = await this.#execute({ scenario: NORMAL, faults: [{ kind: "order", seed: IN_ORDER }] });
    this.#isRandom = second.outcome !== normal.outcome;
    this.#isTimed = slow.outcome !== normal.outcome;
    await this.#check({ scenario: NORMAL, faults: [] });
  }

  /** All schedules with one fault, those that find most first; then random schedules drawn from the seed. */
  async *#schedules(seed: number): AsyncGenerator<Schedule> {
    const normal = await this.#base(NORMAL);
    const faults = [...singleFaults(normal)];
    const first = faults.filter(({ kind }) => kind !== "error" && kind !== "delay" && kind !== "clockJump");
    yield* on(NORMAL, first.slice(0, Math.ceil(first.length / 2)));
    const scenarios = scenariosOf(normal);
    for (const scenario of scenarios) yield { scenario, faults: [] };
    yield* on(NORMAL, first.slice(Math.ceil(first.length / 2)));
    for (const scenario of scenarios) {
      const base = await this.#base(scenario);
      yield* on(scenario, [...crashes(base.notes)]);
    }
    yield* on(
      NORMAL,
      faults.filter((fault) => !first.includes(fault)),
    );
    const bases = [{ scenario: NORMAL, result: normal }];
    for (const scenario of scenarios) bases.push({ scenario, result: await this.#base(scenario) });
    yield* drawn(seed, bases);
  }

  /** The result of a scenario without faults. */
  async #base(scenario: Scenario): Promise<ScheduleResult> {
    const key = scenarioKey(scenario);
    const known = this.#bases.get(key);
    if (known !== undefined) return known;
    const result = await this.#execute({ scenario, faults: [] });
    this.#bases.set(key, result);
    return result;
  }

  async #check(schedule: Schedule): Promise<void> {
    for (const fact of await this.#facts(schedule)) {
      const key = `${fact.kind} ${fact.subject}`;
      if (this.#findings.has(key) || this.#hasKnownCause(fact)) continue;
      this.#findings.set(key, await this.#finding(fact, schedule));
    }
  }

  #hasKnownCause({ kind }: Fact): boolean {
    const causes = CAUSES[kind] ?? [];
    return [...this.#findings.values()].some((finding) => causes.includes(finding.kind));
  }

  async #facts(schedule: Schedule): Promise<readonly Fact[]> {
    const isBase = schedule.faults.length === 0;
    const base = await this.#base(schedule.scenario);
    const result = isBase ? base : await this.#execute(schedule);
    const normal = schedule.scenario.kind === "normal" && isBase ? null : await this.#base(NORMAL);
    const facts = checkRun(schedule, result, this.#context(isBase ? null : base, normal));
    if (!facts.some(({ kind }) => kind === "result")) return facts;
    // A step body that ran again may have drawn another random number. The result may differ only because of that.
    const repeated = await this.#execute(schedule, { sameRandom: true });
    const remaining = checkRun(schedule, repeated, this.#context(base, normal));
    return remaining.some(({ kind }) => kind === "result") ? facts : facts.filter(({ kind }) => kind !== "result");
  }

  #context(base: ScheduleResult | null, normal: ScheduleResult | null): CheckContext {
    const { allOrNothing = null, mayFail = [], compare = null } = this.#options;
    return {
      codec: this.#subject.settings.codec,
      base,
      normal,
      initial: this.#initial,
      isTimed: this.#isTimed,
      isRandom: this.#isRandom,
      allOrNothing,
      mayFail: new Set(mayFail),
      project: compare as ((output: unknown) => unknown) | null,
    };
  }

  /** Removes the faults that the finding does not need, then executes the remaining schedule with its story. */
  async #finding(fact: Fact, schedule: Schedule): Promise<Finding> {
    let { faults } = schedule;
    for (let index = 0; index < faults.length && faults.length > 1; ) {
      const fewer = faults.filter((_, other) => other !== index);
      const shown = await this.#facts({ ...schedule, faults: fewer });
      if (shown.some(({ kind, subject }) => kind === fact.kind && subject === fact.subject)) faults = fewer;
      else index += 1;
    }
    const small: Schedule = { ...schedule, faults: faults as readonly Fault[] };
    const { notes } = await this.#execute(small, { withStory: true });
    return { ...fact, fix: FIXES[fact.kind], schedule: small, story: notes.story };
  }

  async #execute(schedule: Schedule, options: Omit<RunScheduleOptions, "attribution"> = {}): Promise<ScheduleResult> {
    this.#executed += 1;
    const result = await runSchedule(this.#subject, schedule, { ...options, attribution: this.#attribution });
    const rejected = this.#unattributed;
    if (rejected === null) return result;
    this.#unattributed = null;
    this.#attribution.end();
    this.#attribution = trackedAttribution();
    const tracked = await runSchedule(this.#subject, schedule, { ...options, attribution: this.#attribution });
    // Rejections of code beside the workflow are raised again, so that the process reports them.
    if (tracked.notes.unhandled.length === 0) for (const error of rejected) void Promise.reject(error);
    return tracked;
  }

  #onUnattributed(rejected: readonly unknown[]): void {
    this.#unattributed = [...(this.#unattributed ?? []), ...rejected];
  }
}

function on(scenario: Scenario, faults: readonly Fault[]): readonly Schedule[] {
  return faults.map((fault) => ({ scenario, faults: [fault] }));
}

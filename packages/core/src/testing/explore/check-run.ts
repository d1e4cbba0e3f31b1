import { type Failure, toError } from "../../model/failure.ts";
import type { Codec } from "../../model/payload.ts";
import { describedStep } from "./bodies.ts";
import type { Fact } from "./finding.ts";
import type { ScheduleResult } from "./run-observations.ts";
import { type Schedule, takesTime } from "./schedule.ts";

/** What the result of a schedule is compared with, and by which options. */
export interface CheckContext {
  readonly codec: Codec;
  /** The result of the same scenario without faults. Null if that is the checked result. */
  readonly base: ScheduleResult | null;
  /** The result of the normal scenario without faults. Null if that is the checked result. */
  readonly normal: ScheduleResult | null;
  /** The effects before the run. */
  readonly initial: readonly string[];
  /** True if the output depends on time. */
  readonly isTimed: boolean;
  /** True if the output differs between executions without faults. */
  readonly isRandom: boolean;
  readonly allOrNothing: boolean | null;
  readonly mayFail: ReadonlySet<string>;
  /** Returns the part of the output that must be the same. Null compares all of it. */
  readonly project: ((output: unknown) => unknown) | null;
}

/** Returns the faults of the workflow that one result shows. */
export function checkRun(schedule: Schedule, result: ScheduleResult, context: CheckContext): readonly Fact[] {
  const { base } = context;
  const direct = [
    ...functionFacts(result),
    ...swallowed(schedule, result, context),
    ...uncompensated(schedule, result, context),
  ];
  if (base === null) return direct;
  const different = differentEnd(base, schedule, result, context);
  return [...direct, ...(different === null ? differentEffects(base, result) : [different])];
}

/** Faults in the workflow function itself. */
function functionFacts({ notes }: ScheduleResult): readonly Fact[] {
  return [
    ...notes.nondeterministicCalls.map(({ call, after }): Fact => {
      const where = after === null ? "at its start" : `after ${after}`;
      return { kind: "nondeterminism", subject: call, message: `the workflow function calls ${call} ${where}` };
    }),
    ...[...notes.outside].map(
      (effect): Fact => ({
        kind: "outside",
        subject: effect,
        message: `effect "${effect}" happens outside every step`,
      }),
    ),
    ...[...notes.unawaited].map(
      (call): Fact => ({ kind: "unawaited", subject: call, message: `the result of ${call} is never awaited` }),
    ),
    ...notes.unhandled.map(
      (error): Fact => ({ kind: "swallowed", subject: error, message: `unhandled rejection: ${error}` }),
    ),
  ];
}

/** The fact that the run ended differently than without the faults, if it did. */
function differentEnd(
  base: ScheduleResult,
  schedule: Schedule,
  result: ScheduleResult,
  context: CheckContext,
): Fact | null {
  if (result.status === null) {
    if (base.status === null) return null;
    return { kind: "stuck", subject: "the run", message: `the run does not end: ${result.sentence}` };
  }
  const ended = describedEnd(result, context.codec);
  if (result.status === "paused" && base.status !== "paused")
    return { kind: "nondeterminism", subject: "replay", message: `replay diverged: the run is ${ended}` };
  const before = describedEnd(base, context.codec);
  const message = `with faults the run is ${ended}; without faults it is ${before}`;
  if (result.status !== base.status) return { kind: "result", subject: "the result", message };
  if (result.status !== "completed" || context.isRandom || (context.isTimed && takesTime(schedule))) return null;
  return outputText(result, context) === outputText(base, context)
    ? null
    : { kind: "result", subject: "the result", message };
}

function outputText({ outcome }: ScheduleResult, { codec, project }: CheckContext): string | null {
  return project === null ? outcome : codec.encode(project(codec.decode(outcome)), "the result of compare");
}

/** The fact that effects happened more or less often than without the faults, if they did. */
function differentEffects(base: ScheduleResult, result: ScheduleResult): readonly Fact[] {
  const more = without(result.effects, base.effects);
  const less = without(base.effects, result.effects);
  if (more.length === 0 && less.length === 0) return [];
  const again = [...result.notes.ran].filter(([at, count]) => count > (base.notes.ran.get(at) ?? 0)).map(([at]) => at);
  const step = again[0] ?? null;
  if (more.length > 0) {
    const reason = step === null ? "" : `: ${describedStep(step)} ran again`;
    const effects = quoted(more);
    return [
      { kind: "twice", subject: step ?? effects, message: `${effects} happened more often than expected${reason}` },
    ];
  }
  const effects = quoted(less);
  return [{ kind: "lost", subject: effects, message: `${effects} did not happen` }];
}

function quoted(effects: readonly string[]): string {
  return effects.map((each) => `"${each}"`).join(", ");
}

/** The fact that a step failed permanently and the run completed with the same result, if it did. */
function swallowed(
  { scenario, faults }: Schedule,
  result: ScheduleResult,
  { normal, mayFail, isRandom, ...rest }: CheckContext,
): readonly Fact[] {
  if (scenario.kind !== "fail" || faults.length > 0 || normal === null || result.status !== "completed" || isRandom)
    return [];
  const { step } = scenario;
  const isExpected = result.notes.tried.has(step) || mayFail.has(step) || step.endsWith("/~rollback");
  const context = { normal, mayFail, isRandom, ...rest };
  if (isExpected || outputText(result, context) !== outputText(normal, context)) return [];
  if ([...result.notes.issued].some((location) => !normal.notes.issued.has(location))) return [];
  const message = `${describedStep(step)} fails permanently, but the run completes with the same result`;
  return [{ kind: "swallowed", subject: step, message }];
}

/** The effects that remain after a run failed or was cancelled, although it has rollbacks. */
function uncompensated({ scenario, faults }: Schedule, result: ScheduleResult, context: CheckContext): readonly Fact[] {
  const { normal, initial, allOrNothing } = context;
  if (scenario.kind === "normal" || faults.length > 0 || (result.status !== "failed" && result.status !== "cancelled"))
    return [];
  if (!(allOrNothing ?? normal?.notes.hasRollback ?? false) || result.notes.hasCheckpoint) return [];
  return without(result.leftovers, initial).map((effect): Fact => {
    const cause = scenario.kind === "fail" ? `${describedStep(scenario.step)} fails` : "the run is cancelled";
    return { kind: "uncompensated", subject: effect, message: `"${effect}" is not undone after ${cause}` };
  });
}

/** The items of the first list that the second does not contain as often. */
function without(items: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return items.filter((item) => {
    const index = left.indexOf(item);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

const TEXT_MAX = 200;

function describedEnd({ status, outcome }: ScheduleResult, codec: Codec): string {
  if (status !== "completed") {
    const value = outcome === null ? null : toError(codec.decode(outcome) as Failure);
    return value === null ? String(status) : `${status} (${value.message})`;
  }
  const text = outcome ?? "undefined";
  return `completed with ${text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text}`;
}

import { type Failure, toError } from "../../model/failure.ts";
import type { Codec } from "../../model/payload.ts";
import { said } from "./bodies.ts";
import type { Fact } from "./finding.ts";
import type { ScheduleResult } from "./run-observations.ts";
import { type Schedule, takesTime } from "./schedule.ts";

/** What a play is measured by. */
export interface Measure {
  readonly codec: Codec;
  /** The play of the same course without faults; null: this is it. */
  readonly base: ScheduleResult | null;
  /** The play in which nothing goes wrong; null: this is it. */
  readonly calm: ScheduleResult | null;
  /** What there was before the run. */
  readonly initial: readonly string[];
  /** Whether the output says how long something took, or when it was. */
  readonly isTimed: boolean;
  /** Whether the output is another each time, whatever goes wrong. */
  readonly isRandom: boolean;
  readonly allOrNothing: boolean | null;
  readonly mayFail: ReadonlySet<string>;
  /** What of the output has to be the same. */
  readonly project: ((output: unknown) => unknown) | null;
}

/** What is wrong, as one play shows it. */
export function checkRun(schedule: Schedule, played: ScheduleResult, measure: Measure): readonly Fact[] {
  const { base } = measure;
  const direct = [...inCode(played), ...swallowed(schedule, played, measure), ...left(schedule, played, measure)];
  if (base === null) return direct;
  const parted = partedFrom(base, schedule, played, measure);
  return [...direct, ...(parted === null ? effectsBeside(base, played) : [parted])];
}

function inCode({ notes }: ScheduleResult): readonly Fact[] {
  return [
    ...notes.strayed.map(({ what, after }): Fact => {
      const where = after === null ? "at its beginning" : `after ${after}`;
      return { kind: "nondeterminism", subject: what, message: `the workflow's function calls ${what} ${where}` };
    }),
    ...[...notes.outside].map(
      (what): Fact => ({ kind: "outside", subject: what, message: `"${what}" happens outside of every step` }),
    ),
    ...[...notes.unawaited].map(
      (what): Fact => ({ kind: "unawaited", subject: what, message: `nobody waits for ${what}` }),
    ),
    ...notes.unhandled.map(
      (error): Fact => ({ kind: "swallowed", subject: error, message: `nobody handles a failure: ${error}` }),
    ),
  ];
}

/** The end is another than it is without the faults. */
function partedFrom(base: ScheduleResult, schedule: Schedule, played: ScheduleResult, measure: Measure): Fact | null {
  if (played.status === null) {
    if (base.status === null) return null;
    return { kind: "stuck", subject: "the run", message: `the run does not come to its end: ${played.sentence}` };
  }
  const ended = describedEnd(played, measure.codec);
  if (played.status === "paused" && base.status !== "paused")
    return { kind: "nondeterminism", subject: "replay", message: `a replay went another way: ${ended}` };
  const before = describedEnd(base, measure.codec);
  const message = `the run is ${ended}, and without what went wrong it is ${before}`;
  if (played.status !== base.status) return { kind: "result", subject: "the result", message };
  if (played.status !== "completed" || measure.isRandom || (measure.isTimed && takesTime(schedule))) return null;
  return outputText(played, measure) === outputText(base, measure)
    ? null
    : { kind: "result", subject: "the result", message };
}

function outputText({ outcome }: ScheduleResult, { codec, project }: Measure): string | null {
  return project === null ? outcome : codec.encode(project(codec.decode(outcome)), "what is compared");
}

/** The same effects, each as often as without the faults. */
function effectsBeside(base: ScheduleResult, played: ScheduleResult): readonly Fact[] {
  const more = without(played.effects, base.effects);
  const less = without(base.effects, played.effects);
  if (more.length === 0 && less.length === 0) return [];
  const again = [...played.notes.ran].filter(([at, count]) => count > (base.notes.ran.get(at) ?? 0)).map(([at]) => at);
  const step = again[0] ?? null;
  if (more.length > 0) {
    const ran = step === null ? "" : `, because ${said(step)} ran again`;
    const what = more.map((each) => `"${each}"`).join(", ");
    return [{ kind: "twice", subject: step ?? what, message: `${what} happened once too often${ran}` }];
  }
  const what = less.map((each) => `"${each}"`).join(", ");
  return [{ kind: "lost", subject: what, message: `${what} did not happen` }];
}

/** A step failed for good, and all went on as if it had not. */
function swallowed(
  { course, faults }: Schedule,
  played: ScheduleResult,
  { calm, mayFail, isRandom, ...rest }: Measure,
): readonly Fact[] {
  if (course.kind !== "fail" || faults.length > 0 || calm === null || played.status !== "completed" || isRandom)
    return [];
  const { step } = course;
  const isMeant = played.notes.tried.has(step) || mayFail.has(step) || step.endsWith("/~rollback");
  const measure = { calm, mayFail, isRandom, ...rest };
  if (isMeant || outputText(played, measure) !== outputText(calm, measure)) return [];
  if ([...played.notes.issued].some((location) => !calm.notes.issued.has(location))) return [];
  const message = `${said(step)} fails for good, and the run is completed as if it had not`;
  return [{ kind: "swallowed", subject: step, message }];
}

/** A run that failed, or was cancelled, and undoes things, is to leave nothing. */
function left({ course, faults }: Schedule, played: ScheduleResult, measure: Measure): readonly Fact[] {
  const { calm, initial, allOrNothing } = measure;
  if (course.kind === "calm" || faults.length > 0 || (played.status !== "failed" && played.status !== "cancelled"))
    return [];
  if (!(allOrNothing ?? calm?.notes.hasRollback ?? false) || played.notes.hasCheckpoint) return [];
  return without(played.leftovers, initial).map((what): Fact => {
    const when = course.kind === "fail" ? `when ${said(course.step)} fails` : "when the run is cancelled";
    return { kind: "uncompensated", subject: what, message: `"${what}" is left ${when}: nothing took it back` };
  });
}

/** What the first list holds more often than the second. */
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

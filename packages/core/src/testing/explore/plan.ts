import { seededSequence } from "../../runtime/random.ts";
import type { ScheduleResult } from "./run-observations.ts";
import type { Fault, Interleaving, Schedule } from "./schedule.ts";

const CALM: Interleaving = { kind: "calm" };
const JUMP_MS = 10_000;
const SKEW_MS = 3_000;
const ORDERS = 20;
/** How many things go wrong at once in a schedule that is drawn. */
const DRAWN_MAX = 3;

/** The courses that the workflow can take. */
export function interleavingsOf(calm: ScheduleResult): readonly Interleaving[] {
  const steps = [...new Set(calm.notes.bodies.map(({ location }) => location))];
  const rests = Array.from({ length: calm.notes.rests }, (_, index) => index + 1);
  return [
    ...steps.map((step): Interleaving => ({ kind: "fail", step })),
    ...rests.map((rest): Interleaving => ({ kind: "cancel", rest })),
  ];
}

/** Every single fault of a course, those first that are found to tell most. */
export function* singleFaults({ notes }: ScheduleResult): Generator<Fault> {
  yield* crashes(notes);
  for (const [index, { isRetried }] of notes.bodies.entries())
    if (isRetried) for (const ran of [true, false]) yield { kind: "flake", body: index + 1, ran };
  for (let seed = 1; seed <= ORDERS; seed += 1) yield { kind: "order", seed };
  yield { kind: "twice" };
  for (const how of ["lost", "twice", "late"] as const) yield { kind: "hints", how };
  for (const ms of [SKEW_MS, -SKEW_MS]) yield { kind: "skew", ms };
  for (let body = 1; body <= notes.bodies.length; body += 1) yield { kind: "hang", body };
  for (let call = 1; call <= notes.calls; call += 1) {
    yield { kind: "error", call, applied: false };
    yield { kind: "error", call, applied: true };
    for (const kind of ["delay", "outage", "pause", "shutdown"] as const) yield { kind, call };
    yield { kind: "clockJump", call, ms: JUMP_MS };
    yield { kind: "clockJump", call, ms: -JUMP_MS };
  }
}

/** A crash at every call of the store and at every boundary of a step. */
export function* crashes({ bodies, calls }: ScheduleResult["notes"]): Generator<Fault> {
  for (let body = 1; body <= bodies.length; body += 1) {
    yield { kind: "crashInStep", body, ran: true };
    yield { kind: "crashInStep", body, ran: false };
  }
  for (let call = 1; call <= calls; call += 1) {
    yield { kind: "crash", call, applied: false };
    yield { kind: "crash", call, applied: true };
  }
}

/** Schedules without end, each with some faults, drawn by a seed. */
export function* drawn(
  seed: number,
  bases: ReadonlyArray<{ readonly course: Interleaving; readonly played: ScheduleResult }>,
): Generator<Schedule> {
  const next = seededSequence(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  const pools = bases.map(({ course, played }) => ({ course, faults: [...singleFaults(played)] }));
  for (;;) {
    const pool = pools[next() < 0.5 ? 0 : below(pools.length)];
    if (pool === undefined || pool.faults.length === 0) {
      yield { course: CALM, faults: [{ kind: "order", seed: below(2 ** 31) }] };
      continue;
    }
    const faults: Fault[] = next() < 0.5 ? [{ kind: "order", seed: 1 + below(2 ** 31 - 1) }] : [];
    for (let count = 1 + below(DRAWN_MAX); count > 0; count -= 1) {
      const fault = pool.faults[below(pool.faults.length)];
      if (fault !== undefined && !faults.some((other) => meets(other, fault))) faults.push(fault);
    }
    yield { course: pool.course, faults };
  }
}

/** Two faults of one kind that is there once, or at one place. */
function meets(left: Fault, right: Fault): boolean {
  if ("call" in left && "call" in right) return left.call === right.call;
  if ("body" in left && "body" in right) return left.body === right.body;
  return left.kind === right.kind;
}

import { seededSequence } from "../../runtime/random.ts";
import type { ScheduleResult } from "./run-observations.ts";
import type { Fault, Scenario, Schedule } from "./schedule.ts";

const NORMAL: Scenario = { kind: "normal" };
const JUMP_MS = 10_000;
const SKEW_MS = 3_000;
/** The number of `order` faults, each with another seed. */
const ORDERS = 20;
/** The maximum number of faults in a random schedule, without its order. */
const DRAWN_MAX = 3;

/** All scenarios of the workflow besides the normal one. */
export function scenariosOf(normal: ScheduleResult): readonly Scenario[] {
  const steps = [...new Set(normal.notes.bodies.map(({ location }) => location))];
  const suspensions = Array.from({ length: normal.notes.suspensions }, (_, index) => index + 1);
  return [
    ...steps.map((step): Scenario => ({ kind: "fail", step })),
    ...suspensions.map((suspension): Scenario => ({ kind: "cancel", suspension })),
  ];
}

/** Every single fault of a scenario, those that find most first. */
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

/** A crash before and after every store call and every step body. */
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

/** An endless sequence of random schedules with several faults each. */
export function* drawn(
  seed: number,
  bases: ReadonlyArray<{ readonly scenario: Scenario; readonly result: ScheduleResult }>,
): Generator<Schedule> {
  const next = seededSequence(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  const pools = bases.map(({ scenario, result }) => ({ scenario, faults: [...singleFaults(result)] }));
  for (;;) {
    const pool = pools[next() < 0.5 ? 0 : below(pools.length)];
    if (pool === undefined || pool.faults.length === 0) {
      yield { scenario: NORMAL, faults: [{ kind: "order", seed: below(2 ** 31) }] };
      continue;
    }
    const faults: Fault[] = next() < 0.5 ? [{ kind: "order", seed: 1 + below(2 ** 31 - 1) }] : [];
    for (let count = 1 + below(DRAWN_MAX); count > 0; count -= 1) {
      const fault = pool.faults[below(pool.faults.length)];
      if (fault !== undefined && !faults.some((other) => conflicts(other, fault))) faults.push(fault);
    }
    yield { scenario: pool.scenario, faults };
  }
}

/** True if both faults are at the same store call or step body, or are of a kind that a schedule contains at most once. */
function conflicts(left: Fault, right: Fault): boolean {
  if ("call" in left && "call" in right) return left.call === right.call;
  if ("body" in left && "body" in right) return left.body === right.body;
  return left.kind === right.kind;
}

import { DURATION_MS_MAX } from "../../model/duration.ts";
import { kinds } from "../../model/option-check.ts";

/** A fault of a store call. Calls are numbered from 1 over all processes. */
export type CallFault =
  /** The process crashes, before the call is applied or after it. */
  | { readonly kind: "crash"; readonly call: number; readonly applied: boolean }
  /** The call fails, before it is applied or after it. */
  | { readonly kind: "error"; readonly call: number; readonly applied: boolean }
  /** The call takes 5 s. */
  | { readonly kind: "delay"; readonly call: number }
  /** This call and the next ones fail. */
  | { readonly kind: "outage"; readonly call: number }
  /** The process pauses in the call until its lease has expired and another process has taken over its runs. */
  | { readonly kind: "pause"; readonly call: number }
  /** The process is shut down. */
  | { readonly kind: "shutdown"; readonly call: number }
  /** The store's clock jumps by `ms`. */
  | { readonly kind: "clockJump"; readonly call: number; readonly ms: number };

/** A fault of a step body. Executions of step bodies are numbered from 1 over all processes. */
export type BodyFault =
  /** The process crashes, before the body runs or after it. */
  | { readonly kind: "crashInStep"; readonly body: number; readonly ran: boolean }
  /** The body never ends, and its process is killed. */
  | { readonly kind: "hang"; readonly body: number }
  /** The step fails once, before the body runs or after it. */
  | { readonly kind: "flake"; readonly body: number; readonly ran: boolean };

/** A fault of the whole schedule. */
export type LastingFault =
  /** The clocks of the processes differ from the store's clock by `ms`. */
  | { readonly kind: "skew"; readonly ms: number }
  /** All hints are lost, repeated or late. */
  | { readonly kind: "hints"; readonly how: "lost" | "twice" | "late" }
  /** The start and each message and event are sent twice with the same id. */
  | { readonly kind: "twice" }
  /** Step bodies take random times, so that they end in another order. */
  | { readonly kind: "order"; readonly seed: number };

/** A fault of a schedule. Until its first fault, a schedule is the same as without the fault. */
export type Fault = CallFault | BodyFault | LastingFault;

/** The intended end: the run completes, a step fails permanently, or the run is cancelled at one of its suspensions. */
export type Scenario =
  | { readonly kind: "normal" }
  | { readonly kind: "fail"; readonly step: string }
  | { readonly kind: "cancel"; readonly suspension: number };

/** One execution of the workflow as data. A test can keep it and execute it again. */
export interface Schedule {
  readonly scenario: Scenario;
  readonly faults: readonly Fault[];
}

/** The kinds of the parts of a schedule. */
export const SCENARIO = kinds.union<Scenario>({
  normal: {},
  fail: { step: kinds.text },
  cancel: { suspension: kinds.integer(0) },
});

const CALL = { call: kinds.integer(1) };
const BODY = { body: kinds.integer(1) };
const MS = kinds.integer(-DURATION_MS_MAX, DURATION_MS_MAX);

export const FAULT = kinds.union<Fault>({
  crash: { ...CALL, applied: kinds.flag },
  error: { ...CALL, applied: kinds.flag },
  delay: CALL,
  outage: CALL,
  pause: CALL,
  shutdown: CALL,
  clockJump: { ...CALL, ms: MS },
  crashInStep: { ...BODY, ran: kinds.flag },
  hang: BODY,
  flake: { ...BODY, ran: kinds.flag },
  skew: { ms: MS },
  hints: { how: kinds.oneOf("lost", "twice", "late") },
  twice: {},
  order: { seed: kinds.integer(Number.MIN_SAFE_INTEGER) },
});

/** The seed of an `order` fault with which all step bodies take the same time and end in the order in which they started. */
export const IN_ORDER = 0;

/** Faults that make a run take more time. */
const TAKES_TIME: ReadonlySet<Fault["kind"]> = new Set([
  "flake",
  "error",
  "delay",
  "outage",
  "pause",
  "clockJump",
  "skew",
  "hints",
  "order",
]);

export function takesTime({ faults }: Schedule): boolean {
  return faults.some(({ kind }) => TAKES_TIME.has(kind));
}

export function scenarioKey(scenario: Scenario): string {
  return JSON.stringify(scenario);
}

import type { ConsumePolicy, DeliverPolicy, LeftoverPolicy } from "pawl";
import type { Program } from "./program.ts";

/** What can befall one call of the store. `delay`: it comes there late. `lateAnswer`: it is applied at once, and answered after others. */
export const CALL_FAULTS = ["crashBefore", "crashAfter", "error", "appliedError", "delay", "lateAnswer"] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** What can befall workers and the world, about so often in a virtual second. */
export const TIMED_FAULTS = ["kill", "pause", "shutdown", "clockJump", "outage"] as const;
export type TimedFault = (typeof TIMED_FAULTS)[number];

/** What can befall hints and step bodies, each with this probability. */
export const SMALL_FAULTS = ["hintLost", "hintTwice", "hintLate", "hang", "crashInBody"] as const;
export type SmallFault = (typeof SMALL_FAULTS)[number];

/** Of the beats, so many tell of a lapse in which each run of the worker was passed over, as a store does with what a commit has locked. */
export type HeartbeatFault = "passedOver";

export type FaultKind = CallFault | TimedFault | SmallFault | HeartbeatFault | "skew";

/** How often each kind of fault happens; 0 is never. `skew` is how far clocks of workers are off, in ms. */
export type FaultRates = Readonly<Record<FaultKind, number>>;

export const NO_FAULTS: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  error: 0,
  appliedError: 0,
  delay: 0,
  lateAnswer: 0,
  kill: 0,
  pause: 0,
  shutdown: 0,
  clockJump: 0,
  outage: 0,
  hintLost: 0,
  hintTwice: 0,
  hintLate: 0,
  hang: 0,
  crashInBody: 0,
  passedOver: 0,
  skew: 0,
};

export interface RunPlan {
  readonly id: string;
  readonly program: number;
  readonly atMs: number;
  readonly delayMs: number;
  /** The same start is asked for twice at once. */
  readonly twice: boolean;
  /** Somebody waits for its result. */
  readonly watched: boolean;
}

/** What a client does beside starting runs. `run` is a place in `runs`. */
export type ClientAction =
  | {
      readonly kind: "send";
      readonly run: number;
      readonly message: string;
      readonly id: string;
      readonly atMs: number;
      readonly policy: LeftoverPolicy;
      readonly twice: boolean;
    }
  | {
      readonly kind: "emit";
      readonly topic: string;
      readonly id: string;
      readonly atMs: number;
      readonly deliver: DeliverPolicy;
      readonly consume: ConsumePolicy;
      readonly twice: boolean;
    }
  | { readonly kind: "cancel" | "pause" | "resume"; readonly run: number; readonly atMs: number }
  | OperatorAction;

/** Somebody moves a run through its own history. */
export interface OperatorAction {
  readonly kind: "rewind" | "retry" | "fork" | "migrate" | "prune" | "letter";
  readonly run: number;
  readonly id: string;
  readonly atMs: number;
  readonly twice: boolean;
  /** Which of its records, as a part of all. */
  readonly where: number;
  readonly bySeq: boolean;
  /** A fork of all that there is. */
  readonly atEnd: boolean;
  readonly children: "cancel" | "detach";
  readonly messages: "redeliver" | "drop";
}

export interface CaseSettings {
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly hotRuns: number;
  readonly claimsMax: number;
  /** Limits of runs, in ms and in records; null: none. */
  readonly maxRunDuration: number | null;
  readonly maxSuspendDuration: number | null;
  readonly maxJournalRecords: number | null;
}

/** One simulation as data: what is run, by whom, what goes wrong. The seed decides only the order. */
export interface SimCase {
  readonly seed: number;
  readonly programs: readonly Program[];
  readonly runs: readonly RunPlan[];
  readonly actions: readonly ClientAction[];
  readonly workers: number;
  readonly settings: CaseSettings;
  readonly faultRates: FaultRates;
  /** How long things go wrong. */
  readonly chaosMs: number;
  /** When the workers' code is changed; 0: it is the changed one from the start. */
  readonly changeAtMs: number;
  /** How many of the workers know only one version of the code. */
  readonly partial: number;
  /** The one fault of a sweep: at this call of the store, counted from 0. */
  readonly forced: { readonly call: number; readonly fault: CallFault } | null;
}

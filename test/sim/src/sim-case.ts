import type { ConsumePolicy, DeliverPolicy, LeftoverPolicy } from "pawl";
import type { Program } from "./program.ts";

/**
 * Faults of one store call. `delay`: the call arrives late. `lateAnswer`: it is applied at once, and answered after other calls.
 * `unusable`: the store reports that this process must not use it any more.
 */
export const CALL_FAULTS = [
  "crashBefore",
  "crashAfter",
  "error",
  "appliedError",
  "delay",
  "lateAnswer",
  "unusable",
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** Faults of workers and of the environment, as a rate per virtual second. */
export const TIMED_FAULTS = ["kill", "pause", "shutdown", "clockJump", "outage"] as const;
export type TimedFault = (typeof TIMED_FAULTS)[number];

/** Faults of hints and step bodies, as a probability. */
export const SMALL_FAULTS = ["hintLost", "hintTwice", "hintLate", "hang", "crashInBody"] as const;
export type SmallFault = (typeof SMALL_FAULTS)[number];

/** The share of heartbeats that report an expired lease although no run of the worker was freed: a store skips rows that a commit has locked. */
export type HeartbeatFault = "passedOver";

/** The share of step bodies that block the event loop of their worker, mostly for longer than its lease. */
export type BlockFault = "block";

export type FaultKind = CallFault | TimedFault | SmallFault | HeartbeatFault | BlockFault | "skew";

/** The rate of each kind of fault; 0 means never. `skew` is the maximum clock error of workers, in ms. */
export type FaultRates = Readonly<Record<FaultKind, number>>;

export const NO_FAULTS: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  error: 0,
  appliedError: 0,
  delay: 0,
  lateAnswer: 0,
  unusable: 0,
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
  block: 0,
  skew: 0,
};

export interface RunPlan {
  readonly id: string;
  readonly program: number;
  readonly atMs: number;
  readonly delayMs: number;
  /** Omitted if the start sets no deadline. */
  readonly deadlineMs?: number;
  /** Omitted if the start sets no `ttl`. */
  readonly ttlMs?: number;
  /** The start is requested twice at the same time. */
  readonly twice: boolean;
  /** A client waits for its result. */
  readonly watched: boolean;
}

/** Actions of a client besides starting runs. `run` is an index in `runs`. */
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

/** An operator action, or a prune, or a replay of a dead letter. */
export interface OperatorAction {
  readonly kind: "rewind" | "retry" | "fork" | "migrate" | "prune" | "letter" | "restart";
  readonly run: number;
  readonly id: string;
  readonly atMs: number;
  readonly twice: boolean;
  /** The position of the target record in the journal, from 0 to 1. */
  readonly where: number;
  readonly bySeq: boolean;
  /** A fork of the whole journal. */
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
  /** Limits of runs, in ms and in records. Null if there is none. */
  readonly maxRunDuration: number | null;
  readonly maxSuspendDuration: number | null;
  readonly maxJournalRecords: number | null;
}

/** One simulation as data: programs, runs, actions, workers and faults. The seed decides only the order. */
export interface SimCase {
  readonly seed: number;
  readonly programs: readonly Program[];
  readonly runs: readonly RunPlan[];
  readonly actions: readonly ClientAction[];
  readonly workers: number;
  readonly settings: CaseSettings;
  readonly faultRates: FaultRates;
  /** The duration of the phase with faults. */
  readonly chaosMs: number;
  /** The time at which the workers' code is changed. 0 if they have the changed code from the start. */
  readonly changeAtMs: number;
  /** The programs whose code throws a programming error at its end until it is changed. */
  readonly bugs: readonly number[];
  /** Whether workers with the first code lack a key of the codec, so that they cannot read some values. */
  readonly blind: boolean;
  /** Whether each worker sees the processes of the others. Omitted in cases without it. */
  readonly isOneHost?: boolean;
  /** The number of workers that have only one version of the code. */
  readonly partial: number;
  /** The single fault of a sweep, at this store call, counted from 0. */
  readonly forced: { readonly call: number; readonly fault: CallFault } | null;
}

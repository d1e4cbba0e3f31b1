/** A value as text, written and read by a `Codec`. Null stands for `undefined`. */
export type Payload = string | null;

export const STATUSES = [
  "pending",
  "running",
  "suspended",
  "paused",
  "compensating",
  "completed",
  "failed",
  "cancelled",
] as const;

/** The state of a run. `completed`, `failed` and `cancelled` are terminal: the run does not change afterwards. */
export type Status = (typeof STATUSES)[number];
export type TerminalStatus = Extract<Status, "completed" | "failed" | "cancelled">;

export function isTerminal(status: Status): status is TerminalStatus {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/**
 * Whether a run has steps to roll back.
 *
 * - `none`: no completed step has a rollback.
 * - `some`: a cancel or a failure rolls back steps.
 * - `underWay`: steps are being rolled back. The status is `compensating` instead of `running` or `suspended`.
 */
export type Undo = "none" | "some" | "underWay";

/** What happens to a child that is still open when its parent ends. */
export type ParentClosePolicy = "cancel" | "abandon";

export interface Parent {
  readonly runId: string;
  /** The location, in the parent, of the command that started this run. */
  readonly location: string;
  readonly onClose: ParentClosePolicy;
}

/** An arm of a wait: a message by its name, an event by its topic, or a child by its location. */
export interface WaitArm {
  readonly kind: "message" | "event" | "child";
  readonly name: string;
}

/** An open wait of a run, for operators. A `retry` is a step whose next attempt is due at `until`. */
export interface OpenWait {
  readonly location: string;
  readonly kind: string;
  /** When the wait was requested. Null in rows of earlier versions. */
  readonly since: number | null;
  readonly until: number | null;
  readonly arms: readonly WaitArm[];
}

/** The open waits of a run. A post that matches makes the run ready in the same commit. */
export interface Wait {
  /** Message names. */
  readonly messages: readonly string[];
  readonly topics: readonly string[];
  /** Whether the end of a child wakes the run. */
  readonly children: boolean;
  /** The earliest deadline among the open waits. */
  readonly until: number | null;
  /** The time of the last progress. Null in rows of earlier versions. */
  readonly since: number | null;
  /** The newest record at that time. Omitted in rows of earlier versions. */
  readonly seq?: number;
  /** At most `WAIT_OPEN_MAX` open waits. `openCount` is the number of all. */
  readonly open: readonly OpenWait[];
  readonly openCount: number;
}

export const WAIT_OPEN_MAX = 20;

/** Times that the start of a run set. Null if the start set no such time. */
export interface StartLimits {
  /** The run fails at this time, unless it has ended. A child's is never later than its parent's. */
  readonly deadlineAt: number | null;
  /** A run that has not started by this time fails without starting. */
  readonly expireAt: number | null;
}

/** Facts fixed when a run is created. */
export interface NewRun {
  readonly id: string;
  readonly workflow: string;
  readonly version: number;
  readonly input: Payload;
  readonly tags: readonly string[];
  readonly parent: Parent | null;
  readonly createdAt: number;
  /** Identifies the call that created the run, so a repeated call gets the same answer. */
  readonly startId: string;
  /** The worker that executes the run at once. Null if any worker may claim it. */
  readonly owner: string | null;
  /** The earliest claim (epoch ms). `createdAt` if the run may start at once. */
  readonly startAt: number;
  /** Omitted if the run has none. */
  readonly limits?: StartLimits;
}

/** One execution of a workflow, as stored in its row. */
export interface Run extends Omit<NewRun, "startAt"> {
  readonly status: Status;
  /** Grows with each change of owner. Fences the previous owner. */
  readonly epoch: number;
  /** Counts the owner's changes of this row within an epoch, so a repeated append is applied once. */
  readonly turn: number;
  /** When a worker must look at the run: at a deadline, or now. Null if the run waits for a post. */
  readonly wakeAt: number | null;
  readonly wait: Wait | null;
  /** The number of the newest inbox entry; grows with each post. */
  readonly inboxLast: number;
  /** The last journal seq that belongs to an earlier generation (continueAs); records of this one follow it. */
  readonly baseSeq: number;
  /** The number of `continueAs` calls so far. */
  readonly generation: number;
  /** Claims since the run last made progress. */
  readonly claims: number;
  /** The newest seq at the last claim. Later records are progress. */
  readonly claimSeq: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly undo: Undo;
  /** The output of a completed run, or the failure of a failed, cancelled or paused run. */
  readonly outcome: Payload;
}

/** The fields of a run that do not change while its owner stays the same. A hot session keeps them in memory. */
export type RunFacts = Pick<
  Run,
  | "id"
  | "workflow"
  | "version"
  | "parent"
  | "createdAt"
  | "epoch"
  | "baseSeq"
  | "generation"
  | "claims"
  | "startedAt"
  | "limits"
>;

export function factsOf(run: Run): RunFacts {
  const { id, workflow, version, parent, createdAt, epoch, baseSeq, generation, claims, startedAt, limits } = run;
  const facts = { id, workflow, version, parent, createdAt, epoch, baseSeq, generation, claims, startedAt };
  return limits === undefined ? facts : { ...facts, limits };
}

/** A value as text, ready to be stored: `encodeValue` made it, `decodeValue` reads it. `null` stands for `undefined`. */
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

/** Where a run is in its life. `completed`, `failed` and `cancelled` are terminal: nothing changes after them. */
export type Status = (typeof STATUSES)[number];
export type TerminalStatus = Extract<Status, "completed" | "failed" | "cancelled">;

export function isTerminal(status: Status): status is TerminalStatus {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/**
 * What a run has done that can be undone: nothing; something, for a cancel or a failure to undo; or undoing it is under way,
 * and the run is `compensating` whenever it would be running or suspended.
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

/** One thing that can end a wait: a message by its name, an event by its topic, a child by its location. */
export interface WaitArm {
  readonly kind: "message" | "event" | "child";
  readonly name: string;
}

/** One open wait of a run, as people see it. A `retry` is a step whose next try is due at `until`. */
export interface OpenWait {
  readonly location: string;
  readonly kind: string;
  /** When it was asked for; null in rows from before this was kept. */
  readonly since: number | null;
  readonly until: number | null;
  readonly arms: readonly WaitArm[];
}

/** What a run waits for. A post that matches makes the run ready in the commit that brings it. */
export interface Wait {
  /** Message names. */
  readonly messages: readonly string[];
  readonly topics: readonly string[];
  /** Whether the end of a child wakes the run. */
  readonly children: boolean;
  /** The earliest deadline among the open waits. */
  readonly until: number | null;
  /** Since when the run has not come any further; null in rows from before this was kept. */
  readonly since: number | null;
  /** The newest record before it; left out in rows from before this was kept. */
  readonly seq?: number;
  /** At most `WAIT_OPEN_MAX` of the open waits; `openCount` says how many there are. */
  readonly open: readonly OpenWait[];
  readonly openCount: number;
}

export const WAIT_OPEN_MAX = 20;

/** Facts fixed when a run is created. */
export interface NewRun {
  readonly id: string;
  readonly workflow: string;
  readonly version: number;
  readonly input: Payload;
  readonly tags: readonly string[];
  readonly parent: Parent | null;
  readonly createdAt: number;
  /** Says which call created the run, so that the same call sent twice gets the same answer. */
  readonly startId: string;
  /** The worker that interprets the run at once, or null: any worker may claim it. */
  readonly owner: string | null;
  /** Not claimed before this time (epoch ms); `createdAt` when it may begin at once. */
  readonly startAt: number;
}

/** One instance of a workflow, as its row says. */
export interface Run extends Omit<NewRun, "startAt"> {
  readonly status: Status;
  /** The fence: grows with each change of owner. */
  readonly epoch: number;
  /** Counts the owner's changes of this row within an epoch, so that one sent twice is applied once. */
  readonly turn: number;
  /** When a worker has to look at it: a deadline, "now" (ready), or null (nothing to do until a post arrives). */
  readonly wakeAt: number | null;
  readonly wait: Wait | null;
  /** The number of the newest inbox entry; grows with each post. */
  readonly inboxLast: number;
  /** The last journal seq that belongs to an earlier generation (continueAs); records of this one follow it. */
  readonly baseSeq: number;
  /** How often the run has been continued as a fresh generation. */
  readonly generation: number;
  /** Claims since the run last made progress. */
  readonly claims: number;
  /** The newest seq when it was last claimed: what is above it is progress. */
  readonly claimSeq: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly undo: Undo;
  /** The output of a completed run; the failure of a failed, cancelled or paused one. */
  readonly outcome: Payload;
}

/** What stays the same of a run as long as it has this owner: what a hot session keeps of the row. */
export type RunFacts = Pick<
  Run,
  "id" | "workflow" | "version" | "parent" | "createdAt" | "epoch" | "baseSeq" | "generation" | "claims" | "startedAt"
>;

export function factsOf(run: Run): RunFacts {
  const { id, workflow, version, parent, createdAt, epoch, baseSeq, generation, claims, startedAt } = run;
  return { id, workflow, version, parent, createdAt, epoch, baseSeq, generation, claims, startedAt };
}

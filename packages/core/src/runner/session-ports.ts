import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp, LostReason, Outcomes } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { RunPolicy } from "../model/policy.ts";
import type { Payload, Run, RunFacts } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import type { Clock } from "../runtime/clock.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import type { UnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Loaded } from "../store/store.ts";
import type { ResourceReleases } from "./resource-releases.ts";
import type { AttemptResult, StepAttempt } from "./step-attempt.ts";

/** A session, as its world sees it. */
export interface RunSession {
  readonly kind: "source";
  readonly runId: string;
  readonly run: RunFacts;
  /** The newest seq it knows of. */
  readonly seq: number;
  /** The newest inbox entry that it knows of. */
  readonly inboxSeen: number;
  /** The next deadline among its open commands, by the store's clock. */
  readonly nextDeadline: number | null;
  readonly isParked: boolean;
  /** Whether it is not known if the run is this worker's still. */
  readonly ownershipUnknown: boolean;
  /** What it may hold of payloads, estimated. */
  readonly bytes: number;
  /** Whether it undoes what the run did. */
  readonly isCompensating: boolean;
  /** How it ended, once `ended` was called. */
  readonly endState: RunState | null;
  /** Begins, with the run's input and what lies in its inbox. */
  start(loaded: Loaded): void;
  /** The run may be another's by now: no body begins until it was read. */
  requireOwnershipCheck(): void;
  /** The run is this worker's, and this is what the store holds of it. */
  refresh(run: Run, inbox: readonly InboxEntry[]): void;
  /** What a commit has just laid into its inbox; false: something before it was not seen, the run has to be read. */
  receive(entries: readonly InboxEntry[]): boolean;
  /** A deadline may have come. */
  wake(): void;
  /** Gives the run back in the middle of work; what is gathered is kept. */
  release(): void;
  /** Nothing it does counts from here on; its bodies are told why. */
  abandon(reason: Error): void;
  /** It rests and is not kept in memory: whoever wakes the run makes another session of it. */
  evict(): void;
  /** What has gathered since the last call; null if nothing has. */
  takeAppend(): AppendOp | null;
  /** The commit that holds what was taken is durable, or it was refused. */
  appended(outcome: Outcomes["append"]): void;
}

/** A session, as the driver of its program sees it. */
export interface DriverOwner {
  /** Aborted when the run ends, or is worked on here no longer. */
  readonly signal: AbortSignal;
  /** The program has asked for something, or ended. */
  wake(): void;
}

/** A completed child whose work is to be undone, for the run `parent`, which waits for it at `location`. */
export interface ChildUndo {
  readonly child: string;
  readonly parent: string;
  readonly location: string;
  readonly reason: Payload;
}

/** What the sessions of a worker share. */
export interface SessionServices {
  readonly time: SessionTime;
  readonly random: Random;
  readonly codec: Codec;
  readonly log: Log;
  /** Attributes unhandled rejections of user code to runs. */
  readonly rejections: Pick<UnhandledRejections, "watched" | "unwatched">;
  /** Null in a dry run: resources are neither acquired nor released, and have no value. */
  readonly releases: ResourceReleases | null;
  /** Returns the limits of a run, or null if it has none. */
  policyOf(run: Run): RunPolicy | null;
  /** Starts the run that undoes what a child did, once. Returns its id, or null if there is nothing to undo. */
  undoChild(child: ChildUndo): Promise<string | null>;
  readonly events: SessionEvents;
}

/** The clocks and timers of a worker's sessions. */
export interface SessionTime {
  /** The store's clock. */
  now(): number;
  /** Whether a deadline that has passed by `now` has certainly passed on the clock that the store compares it with. */
  hasPassed(at: number): boolean;
  /** Calls back when the store's clock reaches a time. The returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
  /** This process's clock. */
  readonly clock: Clock;
  readonly eventLoop: EventLoop;
}

/** What a session reports to its worker. */
export interface SessionEvents {
  /** The session has an append to commit. */
  onAppendReady(session: RunSession): void;
  /** The session's append is durable. */
  onCommitted(session: RunSession, op: AppendOp): void;
  /** The store refused the session's append. The session is to be discarded. */
  onAppendRefused(session: RunSession, reason: LostReason): void;
  /** The inbox has entries that the session has not seen. */
  onInboxStale(session: RunSession): void;
  /** The session is suspended, durably, until something arrives or `session.nextDeadline` passes. */
  onParked(session: RunSession): void;
  /** The session works again after it was parked. */
  onUnparked(session: RunSession): void;
  /** The run's end, or its continuation as a fresh generation, is durable. */
  onEnded(session: RunSession): void;
}

/** Who hears of what happens at a session: its session. */
export interface SessionStateListener {
  /** There is something to be committed. */
  onFilled(): void;
  /** A completion is recorded. */
  onAdded(): void;
  onAttemptEnd(body: StepAttempt, end: AttemptResult): void;
  /** A body that the store runs: `took` or `threw` of its steps tells how that ended. */
  onTransaction(body: StepAttempt): void;
}

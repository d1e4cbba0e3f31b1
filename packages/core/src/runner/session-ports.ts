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
import type { ProgramIncident } from "../workflow/program.ts";
import type { ResourceReleases } from "./resource-releases.ts";
import type { AttemptResult, StepAttempt } from "./step-attempt.ts";

/** A session as the worker and the coordinator use it. */
export interface RunSession {
  readonly kind: "source";
  readonly runId: string;
  readonly run: RunFacts;
  /** The newest record it knows. */
  readonly seq: number;
  /** The newest inbox entry it knows. */
  readonly inboxSeen: number;
  /** The earliest deadline of its open commands and limits, on the store's clock. Null if there is none. */
  readonly nextDeadline: number | null;
  readonly isParked: boolean;
  /** Whether the run may have another owner. No step starts meanwhile. */
  readonly ownershipUnknown: boolean;
  /** Estimated size of the payloads it keeps in memory. */
  readonly bytes: number;
  readonly isCompensating: boolean;
  /** The locations of its running steps. */
  readonly runningSteps: readonly string[];
  /** How the run ended. Null until it has ended. */
  readonly endState: RunState | null;
  /** Starts the program with the run's input, and delivers its inbox. */
  start(loaded: Loaded): void;
  /** Starts no step until `refresh` confirms that this worker still owns the run. */
  requireOwnershipCheck(): void;
  /** Takes the stored run and inbox. Confirms that this worker owns the run. */
  refresh(run: Run, inbox: readonly InboxEntry[]): void;
  /** Takes entries that a commit added to the inbox. Returns false if earlier entries are missing; the run must be reloaded then. */
  receive(entries: readonly InboxEntry[]): boolean;
  /** Checks for due deadlines. */
  wake(): void;
  /** Releases the run before its end. Recorded results are committed. */
  release(): void;
  /** Discards the session and aborts its running steps with `reason`. */
  abandon(reason: Error): void;
  /** Discards a parked session. The run is loaded again when it is due. */
  evict(): void;
  /** Returns everything added since the last call. Null if there is nothing. */
  takeAppend(): AppendOp | null;
  /** Takes the store's answer to the append that was taken last. */
  appended(outcome: Outcomes["append"]): void;
}

/** A session as its program driver uses it. */
export interface DriverOwner {
  /** Aborted when the run ends or leaves this worker. */
  readonly signal: AbortSignal;
  /** Called when the program has issued a command or has ended. */
  wake(): void;
}

/** A completed child to compensate, for the run `parent`, which waits for the compensation at `location`. */
export interface ChildUndo {
  readonly child: string;
  readonly parent: string;
  readonly location: string;
  readonly reason: Payload;
}

/**
 * A child as the compensation of its parent sees it:
 *
 * - `open`: it has been cancelled, and the parent waits for its end.
 * - `undoable`: it has completed and may have rollbacks.
 * - `ended`: nothing is left to do.
 */
export type ChildState = "open" | "undoable" | "ended";

/** Shared by all sessions of a worker. */
export interface SessionServices {
  readonly time: SessionTime;
  readonly random: Random;
  readonly codec: Codec;
  readonly log: Log;
  /** Attributes unhandled rejections of user code to runs. */
  readonly rejections: Pick<UnhandledRejections, "watched" | "unwatched">;
  /** Null in a dry run: resources are neither acquired nor released, and have no value. */
  readonly releases: ResourceReleases | null;
  /** How long step bodies may run after their run was stopped. */
  readonly graceMs: number;
  /** Returns the limits of a run, or null if it has none. */
  policyOf(run: Run): RunPolicy | null;
  /** Starts the run that compensates a child, once. Returns its id, or null if the child has nothing to compensate. */
  undoChild(child: ChildUndo): Promise<string | null>;
  /** Returns the remaining work for a child whose end the run has not received. Cancels the child if no worker executes it. */
  closeChild(child: ChildUndo): Promise<ChildState>;
  /** The program reported an incident that it had not reported before. */
  onIncident(run: RunFacts, incident: ProgramIncident): void;
  readonly events: SessionEvents;
}

/** The clocks and timers of a worker's sessions. */
export interface SessionTime {
  /** The store's clock. */
  now(): number;
  /** Whether a deadline has certainly passed on the store's clock. */
  hasPassed(at: number): boolean;
  /** Calls back when the store's clock reaches a time. The returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
  /** This process's clock. */
  readonly clock: Clock;
  readonly eventLoop: EventLoop;
}

/** Events that a session reports to its worker. */
export interface SessionEvents {
  /** The session has an append to commit. */
  onAppendReady(session: RunSession): void;
  /** The session's append is durable. */
  onCommitted(session: RunSession, op: AppendOp): void;
  /** The store refused the session's append. The session must be discarded. */
  onAppendRefused(session: RunSession, reason: LostReason): void;
  /** The inbox has entries that the session has not seen. */
  onInboxStale(session: RunSession): void;
  /** The session is suspended, durably, until something arrives or `session.nextDeadline` passes. */
  onParked(session: RunSession): void;
  /** The session works again after it was parked. */
  onUnparked(session: RunSession): void;
  /** The code of a step returned to the event loop after `ms`, which is long. */
  onBlocked(session: RunSession, location: string, ms: number): void;
  /** The run's end, or the start of its next generation, is durable. */
  onEnded(session: RunSession): void;
}

/** Receives the events of a session's parts. */
export interface SessionStateListener {
  /** A commit was requested. */
  onFilled(): void;
  /** A completion was recorded. */
  onAdded(): void;
  onAttemptEnd(attempt: StepAttempt, result: AttemptResult): void;
  /** The code of a step returned to the event loop after `ms`, which is long. */
  onBlocked(location: string, ms: number): void;
  /** The attempt is to be executed by the store. Its end is reported to `StepRunner.committedByStore` or `attemptFailed`. */
  onTransaction(attempt: StepAttempt): void;
}

import type { Payload, TerminalStatus, Undo } from "./run.ts";

/** What becomes of messages that a run has not received when it ends. */
export type LeftoverPolicy = "discard" | "broadcast" | "deadLetter";

/** What lies in a run's inbox until the run receives it. */
export interface InboxEntry {
  /** 1, 2, 3 … per run, in order of arrival. */
  readonly n: number;
  readonly kind: "message" | "event" | "child" | "cancel";
  /** Unique per run. */
  readonly id: string;
  /** The message's name, the event's topic, the child's location; empty for a cancel. */
  readonly name: string;
  readonly value: Payload;
  /** For a child: how it ended. */
  readonly status: string | null;
  readonly at: number;
  readonly onTargetTerminated: LeftoverPolicy;
}

/** A message or event that nobody could receive. */
export interface DeadLetter {
  readonly id: string;
  readonly kind: "message" | "event";
  /** The run it was meant for, or the topic. */
  readonly target: string;
  readonly name: string;
  readonly value: Payload;
  readonly reason: "targetNotFound" | "targetTerminated" | "overflow" | "expired";
  /** The target's status when that was the reason. */
  readonly status: string | null;
  readonly sentAt: number;
  readonly deadAt: number;
}

/** How a child has ended, as its parent hears: `undoable` is completed, with something that can be undone. */
export type ChildEndStatus = TerminalStatus | "undoable";

export function childEndStatus(status: TerminalStatus, undo: Undo): ChildEndStatus {
  return status === "completed" && undo === "some" ? "undoable" : status;
}

/** The id of the entry that tells a parent of a child's end. A location holds no bare `%`, so an escaped colon keeps the ids of different children apart. */
export function childEndId(location: string, child: string): string {
  return `child:${location.replaceAll(":", "%3A")}:${child}`;
}

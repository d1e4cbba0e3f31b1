import type { Payload, TerminalStatus, Undo } from "./run.ts";

/** What happens to a message that the run has not received when it ends. */
export type LeftoverPolicy = "discard" | "broadcast" | "deadLetter";

/** The default: nothing that was accepted is lost. */
export const LEFTOVER_POLICY: LeftoverPolicy = "deadLetter";

/** A message, event, end of a child, or request to cancel or pause, that a run has not received yet. */
export interface InboxEntry {
  /** 1, 2, 3 … per run, in order of arrival. */
  readonly n: number;
  readonly kind: "message" | "event" | "child" | "cancel";
  /** Unique per run. */
  readonly id: string;
  /** The message's name, the event's topic, or the child's location. Empty for a request. */
  readonly name: string;
  readonly value: Payload;
  /** For the end of a child: its status. Otherwise null. */
  readonly status: string | null;
  readonly at: number;
  readonly onTargetTerminated: LeftoverPolicy;
}

/** Ids of requests to stop a run. A request is valid in the epoch in which it was made and after takeovers, so it is made once in each. */
export function cancelRequestId(epoch: number): string {
  return `cancel:${epoch}`;
}

export function pauseRequestId(epoch: number): string {
  return `${PAUSE}${epoch}`;
}

/** Whether an entry requests a pause. It is of the kind `cancel`, because every store delivers that to any run at once. */
export function isPauseRequest({ kind, id }: Pick<InboxEntry, "kind" | "id">): boolean {
  return kind === "cancel" && id.startsWith(PAUSE);
}

const PAUSE = "pause:";

/** A message or event that no run could receive. */
export interface DeadLetter {
  readonly id: string;
  readonly kind: "message" | "event";
  /** The run that the message was sent to, or the topic of the event. */
  readonly target: string;
  readonly name: string;
  readonly value: Payload;
  readonly reason: "targetNotFound" | "targetTerminated" | "overflow" | "expired";
  /** The target's status if `reason` is `targetTerminated`. */
  readonly status: string | null;
  readonly sentAt: number;
  readonly deadAt: number;
}

/** The status that a child's parent receives. `undoable`: completed, with steps that can be rolled back. */
export type ChildEndStatus = TerminalStatus | "undoable";

export function childEndStatus(status: TerminalStatus, undo: Undo): ChildEndStatus {
  return status === "completed" && undo === "some" ? "undoable" : status;
}

/** The id of the inbox entry for a child's end. Colons are escaped, so ids of different children differ: a location contains no bare `%`. */
export function childEndId(location: string, child: string): string {
  return `child:${location.replaceAll(":", "%3A")}:${child}`;
}

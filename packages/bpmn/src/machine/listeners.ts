import { isActivity, type Listener } from "../model/process.ts";
import type { Command, Row, Variables } from "./state.ts";
import { assign } from "./variables.ts";
import { elementOf, enqueue, issue, newRowLocation, releaseRow, type WorkingState } from "./working-state.ts";

/**
 * Calls the next listener of an element, from the position `from` on. False if there is none, and the element goes on. Before the end
 * of an element is told, nothing can trigger its events any more.
 */
export function callListener(state: WorkingState, row: Row, phase: Listener["phase"], from: number): boolean {
  const listeners = elementOf(state, row)?.listeners ?? NONE;
  for (let index = from; index < listeners.length; index += 1) {
    const listener = listeners[index];
    if (listener?.phase !== phase) continue;
    if (phase === "after") releaseRow(state, row.id);
    issue(state, { kind: "listener", location: newRowLocation(row, "listener"), row: row.id, index, listener });
    return true;
  }
  return false;
}

const NONE: readonly Listener[] = [];

/** Assigns what a listener returned, and goes on behind it. */
export function endListener(
  state: WorkingState,
  row: Row,
  { index, listener }: Extract<Command, { kind: "listener" }>,
  variables: Variables,
): void {
  assign(state, row, variables);
  resumeAt(state, row, listener, index + 1);
}

/** Goes on with the listener at a position: the next one, or one that failed. */
export function resumeAt(state: WorkingState, row: Row, { phase }: Listener, from: number): void {
  const element = elementOf(state, row);
  if (element === null) return;
  if (phase === "before") enqueue(state, { kind: "listen", row: row.id, from });
  else enqueue(state, { kind: isActivity(element) ? "complete" : "leave", row: row.id, from });
}

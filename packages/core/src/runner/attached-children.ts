import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Command } from "../workflow/command.ts";
import { isAbandoned } from "./started-child.ts";

/** A child at the location that started it. */
export interface AttachedChild {
  readonly location: string;
  readonly child: string;
}

const RESULT = "/result";

/**
 * The children that a run started and did not abandon, and whose end is not in its journal.
 *
 * 1. A child is in it from the record of its start to the record of its end, in replay as when live.
 * 2. Compensation takes each of them, whether it is open, has ended unread, or ends although it was cancelled.
 */
export class AttachedChildren {
  /** Locations by child. Null if empty, to save memory in hot runs. */
  #locations: Map<string, string> | null = null;

  get size(): number {
    return this.#locations?.size ?? 0;
  }

  /** Applies the record of a completed command. */
  recorded(command: Command, detail: string | null): void {
    if (isAttachedStart(command)) {
      // A run with a copied journal would give the child another id than the one in the record.
      if (command.post.kind === "start") this.add({ location: command.location, child: detail ?? command.post.run.id });
    } else if (command.kind === "wait" && this.#locations !== null) {
      const child = endedChild(command, detail);
      if (child !== null) this.#remove(child.child);
    }
  }

  /** Applies a record that replay skips. */
  skipped({ kind, location, detail, payload }: JournalRecord, codec: Codec): void {
    if (kind === "spawn" && detail !== null && !isAbandoned(codec.decode(payload)))
      this.add({ location, child: detail });
    if (kind !== "child" || !location.endsWith(RESULT)) return;
    const start = location.slice(0, -RESULT.length);
    for (const [child, at] of this.#locations ?? []) if (at === start) this.#remove(child);
  }

  /** Adds the children that open waits wait for. A program that starts from a snapshot does not request their starts again. */
  addAwaited(commands: Iterable<Command>): void {
    for (const command of commands) {
      if (command.kind !== "wait") continue;
      for (const arm of command.arms) if (arm.kind === "child") this.add(arm);
    }
  }

  add({ location, child }: AttachedChild): void {
    this.#locations ??= new Map();
    this.#locations.set(child, location);
  }

  /** Takes the child that was started last. */
  takeNewest(): AttachedChild | null {
    const newest = [...(this.#locations ?? [])].at(-1);
    if (newest === undefined) return null;
    const [child, location] = newest;
    this.#remove(child);
    return { location, child };
  }

  /** Returns the first iteration of a loop that started one of them. Infinity if there is none. */
  firstIteration(loop: string): number {
    const prefix = `${loop}/~`;
    let first = Number.POSITIVE_INFINITY;
    for (const location of this.#locations?.values() ?? [])
      if (location.startsWith(prefix)) first = Math.min(first, Number.parseInt(location.slice(prefix.length), 10));
    return first;
  }

  #remove(child: string): void {
    this.#locations?.delete(child);
    if (this.#locations?.size === 0) this.#locations = null;
  }
}

/** Whether a command starts a child that ends with its parent. */
export function isAttachedStart(command: Command): command is Extract<Command, { kind: "post" }> {
  return command.kind === "post" && command.post.kind === "start" && command.post.run.parent?.onClose === "cancel";
}

/** The child whose end completed a wait. Null if another arm did. The detail of a select names the arm that won. */
export function endedChild(command: Extract<Command, { kind: "wait" }>, detail: string | null): AttachedChild | null {
  const arm = command.record === "select" ? command.arms.find(({ as }) => as === detail) : command.arms[0];
  return arm?.kind === "child" ? arm : null;
}

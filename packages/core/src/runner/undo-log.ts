import { type JournalRecord, UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, StepRollback } from "../workflow/command.ts";
import type { Completed } from "./completions.ts";

/** Something that was done, and how it is undone. */
export type Done =
  | {
      readonly kind: "step";
      readonly location: string;
      readonly seq: number;
      readonly payload: Payload;
      /** Null: the code does not say any more how it is undone. */
      readonly rollback: StepRollback | null;
    }
  /** A child that was started at `location`, has completed, and may have something to undo. */
  | { readonly kind: "child"; readonly location: string; readonly child: string };

/**
 * What a run has done that can be undone.
 *
 * 1. It holds each completed step with a rollback, and each child that was waited for, whose record is in the journal: in the
 *    order of the records, whether the program got to hear of it or not; in replay it comes out the same.
 * 2. A checkpoint empties it.
 */
export class UndoLog {
  /** Null when there is nothing: hot runs are many. */
  #done: Done[] | null = null;
  /** What was open in branches when they were ended, by location: records of it may still come in this replay. */
  #closed: Map<string, Command> | null = null;

  get size(): number {
    return this.#done?.length ?? 0;
  }

  /** A completion that is recorded. */
  add({ command, completion, payload, seq }: Completed): void {
    if (command.kind === "mark" && command.record === "checkpoint") this.#done = null;
    if (completion.outcome !== "ok") return;
    this.#add(command, { payload, seq, detail: completion.detail });
  }

  /** What is closed before its end, in replay. */
  closed(commands: readonly Command[]): void {
    this.#closed ??= new Map();
    for (const command of commands) this.#closed.set(command.location, command);
  }

  /** A record that replay passes over: nobody asks for it, and what it tells has happened. */
  passed(record: JournalRecord): void {
    const { kind, outcome, detail, location, payload, seq } = record;
    if (kind === "checkpoint") this.#done = null;
    if (outcome !== "ok") return;
    const command = this.#closed?.get(location);
    if (command !== undefined) this.#add(command, record);
    else if ((kind === "step" || kind === "transaction") && detail === UNDOABLE)
      this.#push({ kind: "step", location, seq, payload, rollback: null });
  }

  /** The first round of a loop that is in it; infinite: none is. */
  keptFrom(loop: string): number {
    const prefix = `${loop}/~`;
    const first = this.#done?.find(({ location }) => location.startsWith(prefix));
    return first === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(first.location.slice(prefix.length), 10);
  }

  takeNewest(): Done | null {
    return this.#done?.pop() ?? null;
  }

  #add(command: Command, { payload, seq, detail }: Pick<JournalRecord, "payload" | "seq" | "detail">): void {
    const { location } = command;
    if (command.kind === "step") {
      const rollback = command.rollback ?? null;
      if (rollback !== null || detail === UNDOABLE) this.#push({ kind: "step", location, seq, payload, rollback });
      return;
    }
    if (command.kind !== "wait") return;
    // The detail of a select says which arm won, so whether there is something to undo is seen when it comes to that.
    const isUndoable = command.record === "child" ? detail === UNDOABLE : command.record === "select";
    const arm = command.record === "child" ? command.arms[0] : command.arms.find(({ as }) => as === detail);
    if (isUndoable && arm?.kind === "child") this.#push({ kind: "child", location: arm.location, child: arm.child });
  }

  #push(done: Done): void {
    this.#done ??= [];
    this.#done.push(done);
  }
}

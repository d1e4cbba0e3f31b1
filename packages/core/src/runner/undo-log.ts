import { type JournalRecord, UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, StepCommand, StepRollback } from "../workflow/command.ts";
import type { Completed } from "./completions.ts";

/** Something that was done, and how it is undone. */
export interface Done {
  readonly location: string;
  readonly seq: number;
  readonly payload: Payload;
  /** Null: the code does not say any more how it is undone. */
  readonly rollback: StepRollback | null;
}

/**
 * What a run has done that can be undone.
 *
 * G1. It holds each completed step with a rollback whose record is in the journal, in the order of the records, whether the
 *     program got to hear of it or not; in replay it comes out the same.
 * G2. A checkpoint empties it.
 */
export class UndoLog {
  #done: Done[] = [];
  /** Steps of branches that were ended while they were open, by location: their records may still come in this replay. */
  readonly #closed = new Map<string, StepRollback | null>();

  get size(): number {
    return this.#done.length;
  }

  /** A completion that is recorded. */
  note({ command, completion, payload, seq }: Completed): void {
    if (command.kind === "mark" && command.record === "checkpoint") this.#done = [];
    if (command.kind !== "step" || completion.outcome !== "ok") return;
    const rollback = command.rollback ?? null;
    if (rollback === null && completion.detail !== UNDOABLE) return;
    this.#done.push({ location: command.location, seq, payload, rollback });
  }

  /** Steps that are closed before their end, in replay. */
  closed(commands: readonly Command[]): void {
    for (const command of commands)
      if (isUndoable(command)) this.#closed.set(command.location, command.rollback ?? null);
  }

  /** A record that replay passes over: nobody asks for it, and what it tells has happened. */
  passed({ kind, outcome, detail, location, payload, seq }: JournalRecord): void {
    if (kind === "checkpoint") this.#done = [];
    if (kind !== "step" || outcome !== "ok" || detail !== UNDOABLE) return;
    this.#done.push({ location, seq, payload, rollback: this.#closed.get(location) ?? null });
  }

  /** The first round of a loop that is in it; infinite: none is. */
  keptFrom(loop: string): number {
    const prefix = `${loop}/~`;
    const first = this.#done.find(({ location }) => location.startsWith(prefix));
    return first === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(first.location.slice(prefix.length), 10);
  }

  takeNewest(): Done | null {
    return this.#done.pop() ?? null;
  }
}

function isUndoable(command: Command): command is StepCommand {
  return command.kind === "step" && command.rollback !== undefined && command.rollback !== null;
}

import { type JournalRecord, UNDOABLE } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, StepCommand, StepRollback } from "../workflow/command.ts";
import { type AttachedChild, endedChild } from "./attached-children.ts";
import type { Completed } from "./completions.ts";

/** A completed step or child that can be rolled back. */
export type UndoEntry =
  | {
      readonly kind: "step";
      readonly location: string;
      readonly seq: number;
      readonly payload: Payload;
      /** Null if the code no longer has the rollback. */
      readonly rollback: StepRollback | null;
      /** False if the body may have started and did not complete. The payload is null then. */
      readonly finished: boolean;
    }
  /** A child started at `location` that completed and may have rollbacks. */
  | { readonly kind: "child"; readonly location: string; readonly child: string };

/**
 * The completed steps and children of a run that can be rolled back.
 *
 * 1. It has every completed step with a rollback and every awaited child whose record is in the journal, in record order, even if the
 *    program did not receive the completion. Replay rebuilds the same log.
 * 2. A checkpoint empties it, but for steps that have not ended.
 * 3. When the program is stopped, it also has each step with a record of its start and none of its end.
 */
export class UndoLog {
  /** Null if empty, to save memory in hot runs. */
  #entries: UndoEntry[] | null = null;
  /** Steps whose start is recorded and whose end is not, by location. */
  #started: Map<string, Extract<UndoEntry, { kind: "step" }>> | null = null;
  /** Commands that were closed before their end, by location. Replay may still meet their records. */
  #closed: Map<string, Command> | null = null;

  get size(): number {
    return (this.#entries?.length ?? 0) + (this.#started?.size ?? 0);
  }

  /** Whether the start of a step is recorded and its end is not. */
  hasStarted(location: string): boolean {
    return this.#started?.has(location) ?? false;
  }

  get hasUnfinished(): boolean {
    return this.#started !== null;
  }

  /** Notes the record of a step's start. */
  started({ location, rollback = null }: Pick<StepCommand, "location" | "rollback">, seq: number): void {
    this.#started ??= new Map();
    this.#started.set(location, { kind: "step", location, seq, payload: null, rollback, finished: false });
  }

  /** The program is stopped. Steps that have not ended never will. */
  stopped(): void {
    for (const entry of this.#started?.values() ?? []) this.#push(entry);
    this.#started = null;
  }

  add({ command, completion, payload, seq }: Completed): void {
    this.#ended(command.location);
    if (command.kind === "mark" && command.record === "checkpoint") this.#entries = null;
    if (completion.outcome !== "ok") return;
    this.#add(command, { payload, seq, detail: completion.detail });
  }

  /** Notes commands that are closed before their end, in replay. */
  closed(commands: readonly Command[]): void {
    this.#closed ??= new Map();
    for (const command of commands) this.#closed.set(command.location, command);
  }

  /** Adds a record that replay skips: its step has happened although the program does not request it. */
  skipped(record: JournalRecord): void {
    const { kind, outcome, detail, location, payload, seq } = record;
    if (kind === "started") {
      const closed = this.#closed?.get(location);
      this.started(closed?.kind === "step" ? closed : { location, rollback: null }, seq);
      return;
    }
    if (kind !== "retry") this.#ended(location);
    if (kind === "checkpoint") this.#entries = null;
    if (outcome !== "ok") return;
    const command = this.#closed?.get(location);
    if (command !== undefined) this.#add(command, record);
    else if ((kind === "step" || kind === "transaction") && detail === UNDOABLE)
      this.#push({ kind: "step", location, seq, payload, rollback: null, finished: true });
  }

  /** Returns the first iteration of a loop with an entry. Infinity if there is none. */
  firstIteration(loop: string): number {
    const prefix = `${loop}/~`;
    const iterationOf = ({ location }: UndoEntry): number => Number.parseInt(location.slice(prefix.length), 10);
    const oldest = this.#entries?.find(({ location }) => location.startsWith(prefix));
    let first = oldest === undefined ? Number.POSITIVE_INFINITY : iterationOf(oldest);
    for (const entry of this.#started?.values() ?? [])
      if (entry.location.startsWith(prefix)) first = Math.min(first, iterationOf(entry));
    return first;
  }

  /** Adds a child that completed although its end was not received. */
  addChild({ location, child }: AttachedChild): void {
    this.#push({ kind: "child", location, child });
  }

  takeNewest(): UndoEntry | null {
    return this.#entries?.pop() ?? null;
  }

  #add(command: Command, { payload, seq, detail }: Pick<JournalRecord, "payload" | "seq" | "detail">): void {
    const { location } = command;
    if (command.kind === "step") {
      const rollback = command.rollback ?? null;
      if (rollback !== null || detail === UNDOABLE)
        this.#push({ kind: "step", location, seq, payload, rollback, finished: true });
      return;
    }
    if (command.kind !== "wait") return;
    // The record of a select does not say whether the child has rollbacks. That is checked when it is compensated.
    const isUndoable = command.record === "child" ? detail === UNDOABLE : command.record === "select";
    const child = isUndoable ? endedChild(command, detail) : null;
    if (child !== null) this.addChild(child);
  }

  #ended(location: string): void {
    this.#started?.delete(location);
    if (this.#started?.size === 0) this.#started = null;
  }

  #push(entry: UndoEntry): void {
    this.#entries ??= [];
    this.#entries.push(entry);
  }
}

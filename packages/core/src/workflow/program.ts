import type { RecordKind } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes } from "../model/transition.ts";
import type { Command } from "./command.ts";
import type { ResourceRequest } from "./resource.ts";

/** How a program's life in this process ends. */
export type Ending =
  | { readonly kind: "completed"; readonly output: unknown }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "continued"; readonly workflow: string; readonly version: number; readonly input: unknown };

/** What a program may ask of the session that interprets it. */
export interface ProgramHost {
  readonly runId: string;
  readonly run: RunFacts;
  /** False while records are replayed. */
  readonly live: boolean;
  /** How often an operator has sent the run another way; what is told to others after that has ids of its own. */
  readonly edition: number;
  /** What is random in the program follows from this: the same in every replay, and in a fork. */
  readonly seed: string;
  /** Aborted when nothing the program does counts any more. */
  readonly signal: AbortSignal;
  /** The time of the last delivered completion: the same in every replay. */
  now(): number;
  issue(command: Command): void;
  /** Acquires a resource before the program gets anything else; it is held whenever the run is worked on. */
  acquire(request: ResourceRequest): void;
  /** The program is over. What it issues after that is ignored. */
  finish(ending: Ending): void;
  /**
   * For programs whose state is data: keeps `state`, as it is after the last delivered completion. A later session starts
   * from it and gets only the records that follow.
   */
  snapshot(state: unknown): void;
  /**
   * Sets attributes of a document that a command of this program has created, with the commit of what the program was just
   * handed. In a replay it is done again, since a crash may have come between the two.
   */
  mark(kind: string, id: string, attributes: DocumentAttributes): void;
  /** What the journal holds that was not delivered yet. */
  readonly ahead: JournalAhead;
  /** A value as posts hold it; `what` says in an error which one it is. */
  encode(value: unknown, what: string): Payload;
  /** Ends the command at a path, or else everything under it: bodies are told so, waits are over, and what still comes for it is dropped. */
  cancelUnder(path: string, reason: Error): void;
  /** A loop begins. In replay: with which iteration; null: the first. The iterations before it are passed over. */
  startLoop(loop: string): ResumePoint | null;
  endLoop(loop: string): void;
  /** The first iteration of a loop in which something was done that may have to be undone; infinite: none. */
  firstUndoableIteration(loop: string): number;
  /** Records of `kind` at `location`, and all under it, are passed over: the code does not ask for them any more. */
  skip(location: string, kind: RecordKind): void;
}

/** A look at the records that are still to be replayed. */
export interface JournalAhead {
  /** Whether a record of this kind lies at this location. */
  holds(location: string, kind: RecordKind): boolean;
  /** Whether a record lies in the scope whose locations begin with this prefix. */
  continues(prefix: string): boolean;
}

/** A loop goes on with a iteration whose state is in the journal, or is over and gives what it gave. */
export type ResumePoint = { readonly kind: "iteration"; readonly iteration: number } | { readonly kind: "ended" };

/**
 * Interprets one run: completions in, commands out. Its state is a live coroutine (rebuilt by replay from the beginning),
 * or data (rebuilt from the last snapshot and the records after it).
 */
export interface Program {
  /** Begins; with a snapshot, issues again the commands that were open in it. */
  start(input: unknown, snapshot: { readonly state: unknown } | null): void;
}

export type ProgramFactory = (host: ProgramHost) => Program;

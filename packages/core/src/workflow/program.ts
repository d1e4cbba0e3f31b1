import type { PawlError } from "../model/errors.ts";
import type { RecordKind } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes } from "../model/transition.ts";
import type { Command } from "./command.ts";
import type { ResourceRequest } from "./resource-options.ts";

/** How a program ends its run. */
export type FinalEnding =
  | { readonly kind: "completed"; readonly output: unknown }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "continued"; readonly workflow: string; readonly version: number; readonly input: unknown };

/** The program has a mistake: the run is paused with this error, and nothing is undone. A resume starts the program again. */
export interface BrokenProgram {
  readonly kind: "broken";
  readonly error: PawlError;
}

/** How a program ends. */
export type Ending = FinalEnding | BrokenProgram;

/** Why a part of a run cannot continue. */
export interface ProgramIncident {
  /** The part of the program, such as an element of a process. */
  readonly element: string;
  readonly reason: string;
  readonly message: string;
}

/** The session as its program uses it. */
export interface ProgramHost {
  readonly runId: string;
  readonly run: RunFacts;
  /** False while records are replayed. */
  readonly live: boolean;
  /** Number of operator actions that redirected the run: rewind, retry, fork. Posts after such an action get new ids. */
  readonly edition: number;
  /** Seed of the program's random values. The same in every replay. A fork replays copied records with the seed of its origin. */
  readonly seed: string;
  /** Aborted when the run ends or leaves this worker. */
  readonly signal: AbortSignal;
  /** Time of the last delivered completion. The same in every replay. */
  now(): number;
  issue(command: Command): void;
  /** Acquires a resource before the next completion is delivered. Acquired again after each resume. */
  acquire(request: ResourceRequest): void;
  /** Ends the program. Commands that it issues later are ignored. */
  finish(ending: Ending): void;
  /**
   * For programs whose state is data: stores `state` as of the last delivered completion. A later session starts from it and replays only
   * the records after it.
   */
  snapshot(state: unknown): void;
  /**
   * Sets attributes of a document that a command of this program created, in the commit of the last delivered completion. Repeated in
   * replay, because a crash may have prevented that commit.
   */
  mark(kind: string, id: string, attributes: DocumentAttributes): void;
  /**
   * Reports that a part of the run cannot continue until an operator acts: one log line and one event. Not repeated when the run
   * has passed this point before.
   */
  incident(incident: ProgramIncident): void;
  /** Writes a line of the run to the engine's log. Not repeated in replay. */
  log(level: "info" | "warn" | "error", text: string, fields: Readonly<Record<string, unknown>>): void;
  /** The records that were not delivered yet. */
  readonly ahead: JournalAhead;
  /** Encodes a value for a post. `what` names the value in an error. */
  encode(value: unknown, what: string): Payload;
  /**
   * Cancels the command at a path, or if there is none, every command under it. Its steps are aborted and its completions dropped.
   */
  cancelUnder(path: string, reason: Error): void;
  /** Starts a loop. Returns where it resumes in a replay; earlier iterations are skipped. Null means the first iteration. */
  startLoop(loop: string): ResumePoint | null;
  endLoop(loop: string): void;
  /** Returns the first iteration of a loop with a completed step or child that has a rollback. Infinity if there is none. */
  firstUndoableIteration(loop: string): number;
  /** Skips records of `kind` at `location`, and all records under it: the code no longer requests them. */
  skip(location: string, kind: RecordKind): void;
}

/** The part of a run's history that is still to be replayed. */
export interface JournalAhead {
  /** Whether there is a record of this kind at this location. */
  holds(location: string, kind: RecordKind): boolean;
  /** Whether the run has passed this point before: a record follows, or the run has waited since its last record. */
  readonly hasHistory: boolean;
}

/** Where a loop resumes: at an iteration whose state is recorded, or `ended`, with a recorded result. */
export type ResumePoint = { readonly kind: "iteration"; readonly iteration: number } | { readonly kind: "ended" };

/**
 * Interprets one run: completions in, commands out. Its state is a live coroutine, rebuilt by replay, or data, rebuilt from the last
 * snapshot and the records after it.
 */
export interface Program {
  /** Starts the program. With a snapshot, it issues the commands again that were open in it. */
  start(input: unknown, snapshot: { readonly state: unknown } | null): void;
}

export type ProgramFactory = (host: ProgramHost) => Program;

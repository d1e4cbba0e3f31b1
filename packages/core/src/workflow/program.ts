import type { Run } from "../model/run.ts";
import type { Command } from "./command.ts";

/** How a program's life in this process ends. */
export type Ending =
  | { readonly kind: "completed"; readonly output: unknown }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "continued"; readonly workflow: string; readonly version: number; readonly input: unknown };

/** What a program may ask of the session that interprets it. */
export interface ProgramHost {
  readonly runId: string;
  readonly run: Run;
  /** False while records are replayed. */
  readonly live: boolean;
  /** Aborted when nothing the program does counts any more. */
  readonly signal: AbortSignal;
  /** The time of the last delivered completion: the same in every replay. */
  now(): number;
  issue(command: Command): void;
  /** The program is over. What it issues after that is ignored. */
  finish(ending: Ending): void;
  /**
   * For programs whose state is data: keeps `state`, as it is after the last delivered completion. A later session starts
   * from it and gets only the records that follow.
   */
  snapshot(state: unknown): void;
}

/**
 * Interprets one run: completions in, commands out. Its state is a live coroutine (rebuilt by replay from the beginning),
 * or data (rebuilt from the last snapshot and the records after it).
 */
export interface Program {
  /** Begins; with a snapshot, issues again the commands that were open in it. */
  start(input: unknown, snapshot: { readonly state: unknown } | null): void;
}

export type ProgramFactory = (host: ProgramHost) => Program;

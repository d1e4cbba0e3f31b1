import type { Payload, Status } from "../../model/run.ts";

/** A call in a workflow function whose result differs between replays, such as `Date.now()`. */
export interface NondeterministicCall {
  readonly call: string;
  /** The location of the last operation that completed before the call. Null if none had. */
  readonly after: string | null;
}

/** A step body that was about to run. */
export interface BodyObservation {
  readonly location: string;
  /** True if the step is retried after any error. */
  readonly isRetried: boolean;
}

/** The result of a schedule. */
export interface ScheduleResult {
  /** Null if the run has not ended and nothing more can happen. */
  readonly status: Status | null;
  readonly outcome: Payload;
  /** The explanation of a run that has not ended. Empty if it has. */
  readonly sentence: string;
  readonly effects: readonly string[];
  readonly leftovers: readonly string[];
  readonly notes: RunObservations;
}

/** The observations of one schedule. */
export class RunObservations {
  calls = 0;
  /** How often the run was suspended. */
  suspensions = 0;
  hasRollback = false;
  hasCheckpoint = false;
  readonly bodies: BodyObservation[] = [];
  /** The number of executions of each step body, by location. */
  readonly ran = new Map<string, number>();
  /** The locations of all issued commands. */
  readonly issued = new Set<string>();
  /** The locations of commands whose failure the code receives as a value. */
  readonly tried = new Set<string>();
  readonly nondeterministicCalls: NondeterministicCall[] = [];
  readonly unawaited = new Set<string>();
  /** Effects outside every step. */
  readonly outside = new Set<string>();
  readonly unhandled: string[] = [];
  /** The location of the last operation that completed. */
  last: string | null = null;
  readonly #story: string[] | null;

  constructor(options: { readonly withStory: boolean }) {
    this.#story = options.withStory ? [] : null;
  }

  get story(): readonly string[] {
    return this.#story ?? [];
  }

  /** Adds a line to the story, if one is recorded. */
  log(line: () => string): void {
    this.#story?.push(line());
  }
}

import type { Payload, Status } from "../../model/run.ts";

/** Something that is not the same in every replay, asked for in a workflow's function. */
export interface UnhandledRejection {
  readonly what: string;
  /** The last thing that the function had got before. */
  readonly after: string | null;
}

/** A body that was about to run. */
export interface BodyObservation {
  readonly location: string;
  /** Whether it is tried again when it throws, whatever it throws. */
  readonly isRetried: boolean;
}

/** What came of a schedule. */
export interface ScheduleResult {
  /** Null: it has not ended, and nothing more can come. */
  readonly status: Status | null;
  readonly outcome: Payload;
  /** Why the run is where it is, where it has not ended. */
  readonly sentence: string;
  readonly effects: readonly string[];
  readonly leftovers: readonly string[];
  readonly notes: RunObservations;
}

/** What is written down while a schedule is played. */
export class RunObservations {
  calls = 0;
  rests = 0;
  hasRollback = false;
  hasCheckpoint = false;
  readonly bodies: BodyObservation[] = [];
  /** How often the body at each location ran. */
  readonly ran = new Map<string, number>();
  /** Everything that was asked for, by location. */
  readonly issued = new Set<string>();
  /** Steps whose failure is a value to the code. */
  readonly tried = new Set<string>();
  readonly strayed: UnhandledRejection[] = [];
  readonly unawaited = new Set<string>();
  /** Effects of a workflow's function itself. */
  readonly outside = new Set<string>();
  readonly unhandled: string[] = [];
  /** The last thing that the code got. */
  last: string | null = null;
  readonly #story: string[] | null;

  constructor(options: { readonly told: boolean }) {
    this.#story = options.told ? [] : null;
  }

  get story(): readonly string[] {
    return this.#story ?? [];
  }

  tell(line: () => string): void {
    this.#story?.push(line());
  }
}

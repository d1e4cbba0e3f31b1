import { durationText } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import type { LimitName, RunPolicy } from "../model/policy.ts";
import type { Records } from "../model/record.ts";
import type { Run, Wait } from "../model/run.ts";
import type { PendingAppend } from "./pending-append.ts";

/** A run is warned about when it has used so much of a limit. */
const WARN_PERCENTS = [50, 80] as const;

/** The warnings that were given, by limit: how much of it was used. */
export type Warned = Readonly<Partial<Record<LimitName, readonly number[]>>>;

export interface Warning {
  readonly limit: LimitName;
  readonly percent: number;
}

/** What a run has used up: since when it rests, if it does, and how many records its journal holds. */
export interface Usage {
  readonly now: number;
  readonly restingSince: number | null;
  readonly records: number;
}

export interface Look {
  /** The limit that is reached, as an error. */
  readonly error: PawlError | null;
  readonly warnings: readonly Warning[];
  /** When to look again: the next warning, or the limit. */
  readonly nextAt: number | null;
}

const NOTHING: Look = { error: null, warnings: [], nextAt: null };

/**
 * How far a run is from its limits.
 *
 * 1. A limit counts from what is stored (when the run began, since when it stands still, what its journal holds), so it is
 *    the same for whoever works on the run.
 * 2. A warning is given once in a generation: it is a record, which replay passes over. One for 80 % stands for 50 % too.
 */
export class Limits {
  readonly #policy: RunPolicy;
  readonly #run: Pick<Run, "id" | "startedAt" | "createdAt">;
  readonly #warned: Partial<Record<LimitName, readonly number[]>>;

  constructor(policy: RunPolicy, run: Pick<Run, "id" | "startedAt" | "createdAt">, warned: Warned) {
    this.#policy = policy;
    this.#run = run;
    this.#warned = { ...warned };
  }

  get warned(): Warned {
    return { ...this.#warned };
  }

  /** A warning is in the journal, or is about to be. One that a snapshot knows of may be met again behind it. */
  given({ limit, percent }: Warning): void {
    const given = this.#warned[limit] ?? [];
    if (!given.includes(percent)) this.#warned[limit] = [...given, percent];
  }

  look({ now, restingSince, records }: Usage): Look {
    const { startedAt, createdAt } = this.#run;
    // Records that are warnings don't count.
    const warnings = Object.values(this.#warned).reduce((sum, { length }) => sum + length, 0);
    const looks = [
      this.#lookAtTime("maxRunDuration", startedAt ?? createdAt, now),
      this.#lookAtTime("maxSuspendDuration", restingSince, now),
      this.#lookAtRecords(records - warnings),
    ];
    const times = looks.flatMap(({ nextAt }) => nextAt ?? []);
    return {
      error: looks.find(({ error }) => error !== null)?.error ?? null,
      warnings: looks.flatMap(({ warnings }) => warnings),
      nextAt: times.length === 0 ? null : Math.min(...times),
    };
  }

  #lookAtTime(limit: "maxRunDuration" | "maxSuspendDuration", from: number | null, now: number): Look {
    const max = this.#policy[limit];
    if (max === null || from === null) return NOTHING;
    if (now >= from + max) return { ...NOTHING, error: exceeded(this.#run.id, limit, max) };
    const at = (percent: number): number => from + Math.ceil((max * percent) / 100);
    const percent = this.#ungiven(limit, (each) => now >= at(each));
    const given = percent ?? this.#highest(limit);
    const next = WARN_PERCENTS.find((each) => each > given && at(each) > now) ?? 100;
    return { error: null, warnings: percent === null ? [] : [{ limit, percent }], nextAt: at(next) };
  }

  #lookAtRecords(records: number): Look {
    const limit = "maxJournalRecords";
    const max = this.#policy[limit];
    if (max === null) return NOTHING;
    if (records > max) return { ...NOTHING, error: exceeded(this.#run.id, limit, max) };
    const percent = this.#ungiven(limit, (each) => records * 100 >= max * each);
    return percent === null ? NOTHING : { ...NOTHING, warnings: [{ limit, percent }] };
  }

  #highest(limit: LimitName): number {
    return Math.max(0, ...(this.#warned[limit] ?? []));
  }

  /** The highest warning that is due and was not given. */
  #ungiven(limit: LimitName, isDue: (percent: number) => boolean): number | null {
    const given = this.#highest(limit);
    return WARN_PERCENTS.filter((percent) => percent > given && isDue(percent)).at(-1) ?? null;
  }
}

function exceeded(runId: string, limit: LimitName, max: number): PawlError {
  switch (limit) {
    case "maxRunDuration":
      return new PawlError(
        "RUN_DURATION_EXCEEDED",
        `run ${runId} takes longer than its maxRunDuration of ${durationText(max)}, so it was failed`,
      );
    case "maxSuspendDuration":
      return new PawlError(
        "SUSPEND_DURATION_EXCEEDED",
        `run ${runId} is suspended for longer than its maxSuspendDuration of ${durationText(max)}, so it was failed`,
      );
    case "maxJournalRecords":
      return new PawlError(
        "JOURNAL_RECORDS_EXCEEDED",
        `the journal of run ${runId} holds more than its maxJournalRecords of ${max}, so the run was failed`,
      );
  }
}

/** Where a run stands still: since when, and behind which record. */
export interface LastProgress {
  readonly since: number;
  readonly seq: number;
}

/**
 * Since when a run has not come any further. One that is brought back into memory stands still since it came to rest, not since
 * it was brought back; one that was paused, or given back in the middle of its work, begins anew.
 */
export class ProgressClock {
  #since: number | null;
  #seq: number;

  constructor(wait: Wait | null, seq: number) {
    this.#since = wait?.since ?? null;
    this.#seq = seq;
  }

  at(pending: PendingAppend): LastProgress {
    if (this.#since === null || this.#seq !== pending.seq) this.#since = pending.at;
    this.#seq = pending.seq;
    return { since: this.#since, seq: this.#seq };
  }

  /** What is recorded here brings the run no further. */
  keptOver(pending: PendingAppend, record: () => void): void {
    const stood = this.#seq === pending.seq;
    record();
    if (stood) this.#seq = pending.seq;
  }
}

/** What the run waits for; null where its journal says that it has come further since its row was written. */
export function waitSinceProgress({ wait }: Pick<Run, "wait">, records: Records): Wait | null {
  const seq = wait?.seq;
  if (wait === null || seq === undefined) return wait;
  for (let index = records.length - 1; index >= 0; index -= 1) {
    const record = records.at(index);
    if (record === undefined || record.seq <= seq) return wait;
    if (record.kind !== "warning" && record.kind !== "operator") return null;
  }
  return wait;
}

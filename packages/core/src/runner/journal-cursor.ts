import { operatorActionOf } from "../model/operator-action.ts";
import { type JournalRecord, leavesOpen, type RecordKind, type Records } from "../model/record.ts";
import type { JournalAhead, ResumePoint } from "../workflow/program.ts";

/** Each part is created on first use: most runs skip nothing. */
interface SkipRules {
  /** Locations of commands that were closed because their branch lost a race or their iteration ended. */
  closed?: Set<string>;
  /** Locations that the code has removed, with their record kind. */
  removed?: Map<string, RecordKind>;
  /** The iteration that each loop resumes at in this replay. */
  startsAt?: Map<string, number>;
}

/** Records that replay skips although the program does not request them. Found by the paths that lead to them. */
export class SkippedRecords {
  #rules: SkipRules | null = null;

  close(location: string): void {
    const rules = this.#ensureRules();
    rules.closed ??= new Set();
    rules.closed.add(location);
  }

  remove(location: string, kind: RecordKind): void {
    const rules = this.#ensureRules();
    rules.removed ??= new Map();
    rules.removed.set(location, kind);
  }

  startAt(loop: string, iteration: number): void {
    const rules = this.#ensureRules();
    rules.startsAt ??= new Map();
    rules.startsAt.set(loop, iteration);
  }

  covers({ location, kind }: JournalRecord): boolean {
    const rules = this.#rules;
    if (rules === null) return false;
    for (let end = location.indexOf("/"); end >= 0; end = location.indexOf("/", end + 1)) {
      const path = location.slice(0, end);
      if (rules.removed?.has(path) || isBeforeStart(rules, path)) return true;
    }
    if (rules.closed?.has(location)) return true;
    const was = rules.removed?.get(location);
    return (was !== undefined && (kind === was || leavesOpen({ kind }))) || isBeforeStart(rules, location);
  }

  #ensureRules(): SkipRules {
    this.#rules ??= {};
    return this.#rules;
  }
}

function isBeforeStart({ startsAt: begins }: SkipRules, path: string): boolean {
  const slash = path.lastIndexOf("/");
  if (begins === undefined || path[slash + 1] !== "~") return false;
  const begin = begins.get(path.slice(0, slash));
  return begin !== undefined && Number(path.slice(slash + 2)) < begin;
}

/** Reads a run's records from first to last, with a look ahead. */
export class JournalCursor implements JournalAhead {
  readonly skipped = new SkippedRecords();
  /** Whether the journal starts with a copy of another run's journal. */
  readonly isCopied: boolean;
  readonly #records: Records;
  readonly #hasOpenWaits: boolean;
  #index = 0;
  /** The last `fork` record that was passed, until it is taken. */
  #fork: JournalRecord | null = null;
  /** Null at the end. */
  #next: JournalRecord | null;
  /** The index of the last record at or under each path. Built by the first look ahead. */
  #lastUnder: ReadonlyMap<string, number> | null = null;
  /** The newest `loop` record of each loop. */
  #loops: ReadonlyMap<string, JournalRecord> | null = null;

  /** `hasOpenWaits`: the run has waited since its last record, so its code has passed every point that these records lead to. */
  constructor(records: Records, hasOpenWaits: boolean) {
    this.#records = records;
    this.#hasOpenWaits = hasOpenWaits;
    this.#next = records.at(0) ?? null;
    this.isCopied = this.#next !== null && operatorActionOf(this.#next) === "origin";
  }

  get next(): JournalRecord | null {
    return this.#next;
  }

  get left(): number {
    return this.#records.length - this.#index;
  }

  get done(): boolean {
    return this.#index >= this.#records.length;
  }

  advance(): void {
    if (this.#next?.kind === "operator" && operatorActionOf(this.#next) === "fork") this.#fork = this.#next;
    this.#index += 1;
    this.#next = this.#records.at(this.#index) ?? null;
  }

  /** Takes the last `fork` record that was passed. Null if none was passed since the last call. */
  takeFork(): JournalRecord | null {
    const fork = this.#fork;
    if (fork !== null) this.#fork = null;
    return fork;
  }

  holds(location: string, kind: RecordKind): boolean {
    const last = this.#lastAt(location);
    return last !== undefined && last.location === location && last.kind === kind;
  }

  get hasHistory(): boolean {
    return this.#hasOpenWaits || this.#hasProgramRecords();
  }

  resumePoint(loop: string): ResumePoint | null {
    if (this.done) return null;
    this.#loops ??= newestLoops(this.#records);
    const newest = this.#loops.get(loop);
    if (newest === undefined) return null;
    return newest.detail === null ? { kind: "ended" } : { kind: "iteration", iteration: Number(newest.detail) };
  }

  /** Whether a record remains that the program must request. */
  #hasProgramRecords(): boolean {
    for (let index = this.#index; index < this.#records.length; index += 1) {
      const kind = this.#records.at(index)?.kind;
      if (kind !== "operator" && kind !== "warning") return true;
    }
    return false;
  }

  /** Returns the last remaining record at or under the location. */
  #lastAt(location: string): JournalRecord | undefined {
    if (this.done) return undefined;
    this.#lastUnder ??= lastUnder(this.#records);
    const last = this.#lastUnder.get(location) ?? -1;
    return last < this.#index ? undefined : this.#records.at(last);
  }
}

/** The empty cursor, shared by all live sessions: a hot session keeps no records. */
export const JOURNAL_END = new JournalCursor([], false);

function lastUnder(records: Records): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  let index = 0;
  for (const { location } of records) {
    for (let end = location.indexOf("/"); end >= 0; end = location.indexOf("/", end + 1)) {
      last.set(location.slice(0, end), index);
    }
    last.set(location, index);
    index += 1;
  }
  return last;
}

/** A loop's records are at its iterations, `loop/~n`. The record of its end is at the loop itself. */
function newestLoops(records: Records): ReadonlyMap<string, JournalRecord> {
  const newest = new Map<string, JournalRecord>();
  for (const record of records) {
    if (record.kind !== "loop") continue;
    const { location } = record;
    const slash = location.lastIndexOf("/");
    newest.set(location[slash + 1] === "~" ? location.slice(0, slash) : location, record);
  }
  return newest;
}

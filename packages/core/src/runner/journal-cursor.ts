import type { JournalRecord, RecordKind, Records } from "../model/record.ts";
import type { JournalAhead, ResumePoint } from "../workflow/program.ts";

/** Each is made when there is something in it: most runs pass over nothing, and hot ones are many. */
interface Passed {
  /** Where something was open when its branch had lost a race, or its round was over: what came of it later is nobody's. */
  closed?: Set<string>;
  /** Locations that the code has removed, with the kind it had there. */
  removed?: Map<string, RecordKind>;
  /** The round that a loop begins with in this replay. */
  begins?: Map<string, number>;
}

/** Records that replay goes past although nobody asks for them, and rightly so. Each is found by the paths that lead to it. */
export class SkippedRecords {
  #passed: Passed | null = null;

  close(location: string): void {
    const passed = this.#some();
    passed.closed ??= new Set();
    passed.closed.add(location);
  }

  remove(location: string, kind: RecordKind): void {
    const passed = this.#some();
    passed.removed ??= new Map();
    passed.removed.set(location, kind);
  }

  begin(loop: string, round: number): void {
    const passed = this.#some();
    passed.begins ??= new Map();
    passed.begins.set(loop, round);
  }

  covers({ location, kind }: JournalRecord): boolean {
    const passed = this.#passed;
    if (passed === null) return false;
    for (let end = location.indexOf("/"); end >= 0; end = location.indexOf("/", end + 1)) {
      const path = location.slice(0, end);
      if (passed.removed?.has(path) || isBeforeBegin(passed, path)) return true;
    }
    if (passed.closed?.has(location)) return true;
    const was = passed.removed?.get(location);
    return (was !== undefined && (kind === was || kind === "retry")) || isBeforeBegin(passed, location);
  }

  #some(): Passed {
    this.#passed ??= {};
    return this.#passed;
  }
}

function isBeforeBegin({ begins }: Passed, path: string): boolean {
  const slash = path.lastIndexOf("/");
  if (begins === undefined || path[slash + 1] !== "~") return false;
  const begin = begins.get(path.slice(0, slash));
  return begin !== undefined && Number(path.slice(slash + 2)) < begin;
}

/** The recorded part of a run, read once from front to back, with a look at what is still to come. */
export class JournalCursor implements JournalAhead {
  /** What of it nobody asks for, and rightly so. */
  readonly passedOver = new SkippedRecords();
  readonly #records: Records;
  #index = 0;
  /** The record at the index; null: there is none. */
  #next: JournalRecord | null;
  /** The last record at or under each location's path; made when someone looks ahead. */
  #lastUnder: ReadonlyMap<string, number> | null = null;
  /** The newest `loop` record of each loop. */
  #loops: ReadonlyMap<string, JournalRecord> | null = null;

  constructor(records: Records) {
    this.#records = records;
    this.#next = records.at(0) ?? null;
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
    this.#index += 1;
    this.#next = this.#records.at(this.#index) ?? null;
  }

  holds(location: string, kind: RecordKind): boolean {
    const last = this.#lastAt(location);
    return last !== undefined && last.location === location && last.kind === kind;
  }

  continues(prefix: string): boolean {
    return prefix === "" ? this.#asksForMore() : this.#lastAt(prefix.replace(/\/$/, "")) !== undefined;
  }

  resumePoint(loop: string): ResumePoint | null {
    if (this.done) return null;
    this.#loops ??= newestLoops(this.#records);
    const newest = this.#loops.get(loop);
    if (newest === undefined) return null;
    return newest.detail === null ? { kind: "over" } : { kind: "round", round: Number(newest.detail) };
  }

  /** Whether a record is to come that the program asks for. */
  #asksForMore(): boolean {
    for (let index = this.#index; index < this.#records.length; index += 1) {
      const kind = this.#records.at(index)?.kind;
      if (kind !== "operator" && kind !== "warning") return true;
    }
    return false;
  }

  /** The last of the records to come that lies at or under the location. */
  #lastAt(location: string): JournalRecord | undefined {
    if (this.done) return undefined;
    this.#lastUnder ??= lastUnder(this.#records);
    const last = this.#lastUnder.get(location) ?? -1;
    return last < this.#index ? undefined : this.#records.at(last);
  }
}

/** Where nothing is to come. One for all: a hot session holds no history. */
export const JOURNAL_END = new JournalCursor([]);

/** For each path to a record, the place of the last one at or under it. */
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

/** A loop's records lie at its rounds, which begin with `~` as no name does; its last one lies at the loop itself. */
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

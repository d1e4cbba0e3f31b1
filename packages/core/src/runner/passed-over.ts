import type { JournalRecord, RecordKind } from "../model/record.ts";

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
export class PassedOver {
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

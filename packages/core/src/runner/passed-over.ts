import type { JournalRecord, RecordKind } from "../model/record.ts";

/** Records that replay goes past although nobody asks for them, and rightly so. Each is found by the paths that lead to it. */
export class PassedOver {
  /** Where something was open when its branch had lost a race, or its round was over: what came of it later is nobody's. */
  readonly #closed = new Set<string>();
  /** Locations that the code has removed, with the kind it had there. */
  readonly #removed = new Map<string, RecordKind>();
  /** The round that a loop begins with in this replay. */
  readonly #begins = new Map<string, number>();

  close(location: string): void {
    this.#closed.add(location);
  }

  remove(location: string, kind: RecordKind): void {
    this.#removed.set(location, kind);
  }

  begin(loop: string, round: number): void {
    this.#begins.set(loop, round);
  }

  /** Nothing is replayed any more. */
  clear(): void {
    this.#closed.clear();
    this.#removed.clear();
    this.#begins.clear();
  }

  covers({ location, kind }: JournalRecord): boolean {
    for (let end = location.indexOf("/"); end >= 0; end = location.indexOf("/", end + 1)) {
      const path = location.slice(0, end);
      if (this.#removed.has(path) || this.#isBeforeBegin(path)) return true;
    }
    if (this.#closed.has(location)) return true;
    const was = this.#removed.get(location);
    return (was !== undefined && (kind === was || kind === "retry")) || this.#isBeforeBegin(location);
  }

  #isBeforeBegin(path: string): boolean {
    const slash = path.lastIndexOf("/");
    if (path[slash + 1] !== "~") return false;
    const begin = this.#begins.get(path.slice(0, slash));
    return begin !== undefined && Number(path.slice(slash + 2)) < begin;
  }
}

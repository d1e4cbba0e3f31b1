import type { RunHead } from "../../rules/tables.ts";
import { memoryRunOf } from "../memory/memory-run.ts";
import type { MemoryTables, UsedNumbers } from "../memory/memory-tables.ts";
import type { ChangeLog } from "./change-log.ts";
import { KEYS } from "./keys.ts";
import type { NameRegistry } from "./name-registry.ts";

/** The largest numbers given to rows and subscriptions so far. */
export type Numbers = UsedNumbers & { readonly places: number };

/** The rows in memory, and the changes that are not written yet. */
export class RecordedRows {
  readonly memory: MemoryTables;
  readonly changes: ChangeLog;
  readonly names: NameRegistry;
  /** Called after each change of a run's row. `head` is null if the run was removed. */
  readonly onRow: (runId: string, head: RunHead | null) => void;
  /** By the run's number: the place of each of its topic subscriptions in the order of all subscriptions. */
  readonly places: Map<number, Map<string, number>>;
  #numbers: Numbers;

  constructor(
    parts: Pick<RecordedRows, "memory" | "changes" | "names" | "onRow" | "places"> & { readonly numbers: Numbers },
  ) {
    this.memory = parts.memory;
    this.changes = parts.changes;
    this.names = parts.names;
    this.onRow = parts.onRow;
    this.places = parts.places;
    this.#numbers = parts.numbers;
  }

  /** Stores that a number was used. It is not used again, even after its row was removed. */
  used(kind: keyof Numbers, number: number): void {
    this.#numbers = { ...this.#numbers, [kind]: Math.max(number, this.#numbers[kind]) };
    this.changes.put([KEYS.meta, "numbers"], () => this.#numbers);
  }

  nextPlace(): number {
    this.used("places", this.#numbers.places + 1);
    return this.#numbers.places;
  }

  recordRow(head: RunHead): void {
    const memoryRun = memoryRunOf(this.memory.memoryRuns, head);
    this.changes.put([KEYS.run, head.key], () => ({
      ...memoryRun.head,
      wait: memoryRun.wait,
      places: [...(this.places.get(head.key) ?? [])],
    }));
    this.onRow(head.id, head);
  }
}

import type { RunHead } from "../../rules/tables.ts";
import { memoryRunOf } from "../memory/memory-run.ts";
import type { MemoryTables, UsedNumbers } from "../memory/memory-tables.ts";
import type { ChangeLog } from "./change-log.ts";
import { KEYS } from "./keys.ts";
import type { NameRegistry } from "./name-registry.ts";

/** The largest numbers that rows and subscriptions have had. */
export type Numbers = UsedNumbers & { readonly places: number };

/** Rows in memory, and changes of what is to be written of them. */
export class RecordedRows {
  readonly memory: MemoryTables;
  readonly changes: ChangeLog;
  readonly names: NameRegistry;
  /** Told of each change of a run's row; null: the run is gone. */
  readonly onRow: (runId: string, head: RunHead | null) => void;
  /** Since when, in order, each run is subscribed to each of its topics, by the run's number. */
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

  /** A number was given: it is not given again, even if what has it goes. */
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

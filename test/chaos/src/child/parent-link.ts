import type { Entry } from "../entry.ts";
import type { Scenario } from "../load/scenario.ts";
import type { ToChild, ToParent } from "../wire.ts";

/** Ends the process when its parent is gone: nobody else would. */
const ORPHANED = 3;

/** A child's way to the ledger and to its work, both kept by the parent. After `close` nothing is answered any more. */
export class ParentLink {
  readonly #kept = new Map<number, () => void>();
  readonly #asking: Array<(scenario: Scenario | null) => void> = [];
  #number = 0;
  #closed = false;

  constructor() {
    process.on("message", (message) => this.#hear(message as ToChild));
    process.on("disconnect", () => {
      if (!this.#closed) process.exit(ORPHANED);
    });
  }

  ready(): void {
    this.#tell({ kind: "ready" });
  }

  /** Resolves when the ledger has it on its disk. */
  append(entry: Entry): Promise<void> {
    return new Promise((kept) => {
      this.#number += 1;
      this.#kept.set(this.#number, kept);
      this.#tell({ kind: "entry", entry, number: this.#number });
    });
  }

  /** As `append`, for those who don't wait. */
  note(entry: Entry): void {
    this.#tell({ kind: "entry", entry, number: null });
  }

  next(): Promise<Scenario | null> {
    return new Promise((resolve) => {
      this.#asking.push(resolve);
      this.#tell({ kind: "next" });
    });
  }

  driven(index: number): void {
    this.#tell({ kind: "driven", index });
  }

  close(): void {
    this.#closed = true;
    process.disconnect();
  }

  #tell(message: ToParent): void {
    if (!this.#closed && process.connected) process.send?.(message);
  }

  #hear(message: ToChild): void {
    switch (message.kind) {
      case "kept":
        this.#kept.get(message.number)?.();
        this.#kept.delete(message.number);
        return;
      case "scenario":
        this.#asking.shift()?.(message.scenario);
        return;
    }
  }
}

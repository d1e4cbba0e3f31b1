import type { ToChild, ToParent } from "../child-messages.ts";
import type { Entry } from "../entry.ts";
import type { Scenario } from "../load/scenario.ts";

/** The exit code of a process whose parent has exited. */
const ORPHANED = 3;

/** A child's connection to its parent, which has the ledger and the scenarios. After `close` no request is answered. */
export class ParentLink {
  readonly #kept = new Map<number, () => void>();
  readonly #asking: Array<(scenario: Scenario | null) => void> = [];
  #number = 0;
  #closed = false;

  constructor() {
    process.on("message", (message) => this.#receive(message as ToChild));
    process.on("disconnect", () => {
      if (!this.#closed) process.exit(ORPHANED);
    });
  }

  ready(): void {
    this.#tell({ kind: "ready" });
  }

  /** Resolves when the entry is durable. */
  append(entry: Entry): Promise<void> {
    return new Promise((kept) => {
      this.#number += 1;
      this.#kept.set(this.#number, kept);
      this.#tell({ kind: "entry", entry, number: this.#number });
    });
  }

  /** As `append`, without waiting. */
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

  #receive(message: ToChild): void {
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

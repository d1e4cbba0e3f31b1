import type { Coordinator } from "../coordinator/coordinator.ts";
import { PawlError } from "../model/errors.ts";
import type { Clock } from "../runtime/clock.ts";

/** The document that a probe writes and deletes. All engines of a store use the same one. */
const DOCUMENT = { kind: "pawl.probe", id: "probe" };
const PUT = { put: { ...DOCUMENT, runId: null, attributes: {}, body: null } } as const;
const REMOVE = { remove: DOCUMENT } as const;

/** Time between two probes. */
const PROBE_MS = 1_000;

export interface StoreProbeParts {
  readonly coordinator: Pick<Coordinator, "submit">;
  readonly clock: Clock;
  /** Whether the store is still down. */
  readonly isDown: () => boolean;
}

/**
 * Commits something small from time to time while the store is down. An idle engine and a client have nothing else to commit, and only a
 * commit proves that the store is up again.
 */
export class StoreProbe {
  readonly #parts: StoreProbeParts;
  #isRunning = false;

  constructor(parts: StoreProbeParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule();
  }

  #schedule(): void {
    const { clock } = this.#parts;
    clock.wakeAt(clock.now() + PROBE_MS, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    const { coordinator, isDown } = this.#parts;
    try {
      if (isDown()) await coordinator.submit({ kind: "documents", documents: [PUT] });
      await coordinator.submit({ kind: "documents", documents: [REMOVE] });
      this.#isRunning = false;
    } catch (error) {
      // A stopped coordinator rejects every op, and needs no probe.
      if (error instanceof PawlError && error.code === "STORE_UNAVAILABLE") this.#schedule();
    }
  }
}

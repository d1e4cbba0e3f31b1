import type { RunState } from "../model/transition.ts";
import type { SessionState } from "./session-state.ts";

/** The state of the run's row once everything in `pending` is applied. */
export class StoredState {
  #status: "running" | "suspended" = "running";
  #waitChanges = 0;
  #woken = false;
  /** Whether the stored row is suspended and no other state was sent since. */
  #isParkStored = false;
  /** The change of the open waits that the sent state contains. */
  #sentChanges = 0;

  /** Notes a state that is being sent. */
  sent(state: RunState | null): void {
    if (state === null) return;
    this.#isParkStored = false;
    this.#sentChanges = this.#waitChanges;
  }

  /** Notes that the sent state is stored. If entries arrived meanwhile, the store has not registered the run as a waiter. */
  stored(state: RunState | null, { open }: SessionState): void {
    if (state === null) return;
    this.#isParkStored = state.status === "suspended";
    if ("wait" in state && state.inboxSeen === open.inboxSeen) open.knownToStore = this.#sentChanges;
  }

  /** Whether the row is suspended, nothing is left to append, and no step is running. */
  isParked({ pending, steps }: SessionState): boolean {
    return this.#isParkStored && !this.#woken && !pending.commitRequested && !steps.busy;
  }

  /** The store considers the run awake, so its wait must be written again. */
  markWoken(): void {
    this.#woken = true;
  }

  /** Writes what the run waits for, unless the row already has it. Called when no completion is left to deliver. */
  update({ open, steps, pending, progress }: SessionState, isWorking = false): void {
    // Without an open command the code awaits another promise, so the run is working.
    const status = isWorking || steps.busy || open.size === 0 ? "running" : "suspended";
    const { waits, inboxSeen } = open;
    if (this.#status === status && this.#waitChanges === waits.changes && !this.#woken) {
      // A suspended run may be evicted, so all its records must be written.
      if (status === "suspended" && pending.holdsRecords) pending.requestCommit();
      return;
    }
    this.#status = status;
    this.#waitChanges = waits.changes;
    this.#woken = false;
    const lastProgress = progress.at(pending);
    // The stored status is `compensating` for a working and for a suspended run. The wait distinguishes them: null if it is working.
    const isCompensating = pending.undoState === "underWay";
    if (status === "running")
      pending.state({ status, wait: isCompensating ? null : open.waitRow(lastProgress), inboxSeen });
    else pending.state({ status, wait: open.parkedRow(lastProgress), inboxSeen });
  }

  /** Writes that the run is compensating. Its program's waits are dropped. */
  stopped(state: SessionState): void {
    this.adopt(state);
    state.pending.state({ status: "running", wait: null, inboxSeen: state.open.inboxSeen });
  }

  /** Takes over a state that an exclusive append has committed. */
  adopt({ open }: SessionState): void {
    this.#status = "running";
    this.#waitChanges = open.waits.changes;
    this.#sentChanges = open.waits.changes;
    this.#woken = false;
  }
}

import type { RunState } from "../model/transition.ts";
import type { SessionState } from "./session-state.ts";

/** What a run's row says of it once everything in the pending is applied. */
export class StoredState {
  #status: "running" | "suspended" = "running";
  #waitChanges = 0;
  #woken = false;
  /** Whether the row that is stored says that the run is suspended, and no other state is on its way. */
  #isParkStored = false;
  /** The change of the waits as of which the state that is on its way names them. */
  #sentChanges = 0;

  /** A state is on its way to the store. */
  sent(state: RunState | null): void {
    if (state === null) return;
    this.#isParkStored = false;
    this.#sentChanges = this.#waitChanges;
  }

  /** What was sent is stored. One to whom something had come meanwhile is no waiter by it. */
  stored(state: RunState | null, { open }: SessionState): void {
    if (state === null) return;
    this.#isParkStored = state.status === "suspended";
    if ("wait" in state && state.inboxSeen === open.inboxSeen) open.knownToStore = this.#sentChanges;
  }

  /** Whether the run rests: its row says so, nothing is to be added, and no body runs. */
  isParked({ pending, steps }: SessionState): boolean {
    return this.#isParkStored && !this.#woken && !pending.commitRequested && !steps.busy;
  }

  /** The store has taken the run as woken: it has to hear what the run waits for from here on. */
  markWoken(): void {
    this.#woken = true;
  }

  /** Nothing is left to hand over: the row has to say what the run waits for, unless it says so already. */
  update({ open, steps, pending, progress }: SessionState, isWorking = false): void {
    // With nothing open, the code awaits something of its own: it is working.
    const status = isWorking || steps.busy || open.size === 0 ? "running" : "suspended";
    const { waits, inboxSeen } = open;
    if (this.#status === status && this.#waitChanges === waits.changes && !this.#woken) {
      // A run that rests may leave this process: nothing that it did is left unwritten.
      if (status === "suspended" && pending.holdsRecords) pending.requestCommit();
      return;
    }
    this.#status = status;
    this.#waitChanges = waits.changes;
    this.#woken = false;
    const stand = progress.at(pending);
    // One that undoes what it did is `compensating` at work and at rest: what it waits for tells them apart.
    const isUndoing = pending.undoState === "underWay";
    if (status === "running") pending.state({ status, wait: isUndoing ? null : open.waitRow(stand), inboxSeen });
    else pending.state({ status, wait: open.parkedRow(stand), inboxSeen });
  }

  /** The run undoes what it did: the row has to say so, and waits for nothing that it waited for. */
  stopped(session: SessionState): void {
    this.adopt(session);
    session.pending.state({ status: "running", wait: null, inboxSeen: session.open.inboxSeen });
  }

  /** A state that was committed in an append of its own. */
  adopt({ open }: SessionState): void {
    this.#status = "running";
    this.#waitChanges = open.waits.changes;
    this.#sentChanges = open.waits.changes;
    this.#woken = false;
  }
}

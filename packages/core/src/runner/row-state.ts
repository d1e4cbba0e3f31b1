import type { Desk } from "./desk.ts";

/** What a run's row says of it once everything in the draft is applied. */
export class RowState {
  #status: "running" | "suspended" = "running";
  #waitChanges = 0;
  #woken = false;

  /** The store has taken the run as woken: it has to hear what the run waits for from here on. */
  woken(): void {
    this.#woken = true;
  }

  /** Nothing is left to do now: the row has to say what the run waits for, unless it says so already. */
  tell({ open, steps, draft }: Desk): void {
    const status = steps.busy ? "running" : "suspended";
    // With nothing open, the code awaits something of its own: it is working.
    if (status === "suspended" && open.size === 0) return;
    const { waits, inboxSeen } = open;
    if (this.#status === status && this.#waitChanges === waits.changes && !this.#woken) return;
    this.#status = status;
    this.#waitChanges = waits.changes;
    this.#woken = false;
    const wait = open.toWait();
    if (status === "suspended") draft.state({ status, wait, inboxSeen });
    else draft.state({ status, wait: waits.size > 0 ? wait : null, inboxSeen });
  }
}

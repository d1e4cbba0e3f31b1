import type { AppendOp, LostReason, Outcomes } from "../model/op.ts";
import type { RunFacts } from "../model/run.ts";
import { SingleTimer } from "../runtime/timer-queue.ts";
import { DeadlineAppend } from "./deadline-append.ts";
import type { SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import type { StepAttempt } from "./step-attempt.ts";
import { TransactionAppend } from "./transaction-append.ts";

/** Delay before a timeout is sent again, if the deadline had not passed on the store's clock. */
export const EARLY_MS = 50;
/** Interval at which a stale inbox is reloaded. */
export const RELOAD_MS = 500;

/** Meaning of the store's answer for the exclusive append that was in flight. */
type ExclusiveAnswer =
  /** The append is durable. `rowUpdated`: it also stored the run's wait. */
  | { readonly kind: "durable"; readonly rowUpdated: boolean }
  /** Nothing changed. The append is sent again: after a reload of the inbox (`stale`), or after EARLY_MS (`early`). */
  | { readonly kind: "stale" | "early" }
  /** Nothing changed. The step of the transaction has been notified. */
  | { readonly kind: "failed" }
  | { readonly kind: "lost"; readonly reason: LostReason };

const DURABLE: ExclusiveAnswer = { kind: "durable", rowUpdated: false };
const ROW_UPDATED: ExclusiveAnswer = { kind: "durable", rowUpdated: true };

/** Sends timeouts and transactions to the store as exclusive appends, one at a time. */
export class ExclusiveAppends {
  readonly #state: SessionState;
  readonly #services: SessionServices;
  readonly #session: { wake(): void };
  /** Created on first use: many runs only wait for a message. */
  #deadlines: DeadlineAppend | null = null;
  #timer: SingleTimer | null = null;
  #transactions: TransactionAppend | null = null;

  constructor(state: SessionState, services: SessionServices, session: { wake(): void }) {
    this.#state = state;
    this.#services = services;
    this.#session = session;
  }

  /** Whether an exclusive append was sent and is not answered. */
  get inFlight(): boolean {
    return (this.#deadlines?.inFlight ?? false) || (this.#transactions?.inFlight ?? false);
  }

  /** Whether there is an exclusive append to send. */
  get waiting(): boolean {
    return (this.#deadlines?.waiting ?? false) || (this.#transactions?.waiting ?? false);
  }

  /** Whether the store has inbox entries that the session has not loaded. */
  get inboxStale(): boolean {
    return this.#deadlines?.inboxStale ?? false;
  }

  /** Whether a due wait must be registered first. */
  get hasUnregisteredWait(): boolean {
    return this.#deadlines?.hasUnregisteredWait ?? false;
  }

  /** Sets a timer that wakes the session at its next deadline. No timer while a due wait is being registered. */
  watchDeadlines(): void {
    this.#wakeAt(this.hasUnregisteredWait ? null : this.#state.open.nextDeadline);
  }

  unwatchDeadlines(): void {
    this.#wakeAt(null);
  }

  /** The inbox was reloaded. */
  caughtUp(): void {
    this.#deadlines?.caughtUp();
  }

  /** Collects waits whose deadline has passed. Returns true if there are timeouts to send. */
  findDue(now: number): boolean {
    this.#deadlines ??= new DeadlineAppend(this.#state, this.#services.time.hasPassed);
    return this.#deadlines.findDue(now);
  }

  /** Adds an attempt that the store is to execute. */
  add(attempt: StepAttempt): void {
    this.#transactions ??= new TransactionAppend(this.#state, this.#services.rejections);
    this.#transactions.add(attempt);
  }

  takeOp(run: RunFacts): AppendOp | null {
    return this.#deadlines?.takeOp(run) ?? this.#transactions?.takeOp(run) ?? null;
  }

  answered(outcome: Outcomes["append"]): ExclusiveAnswer {
    const deadlines = this.#deadlines?.inFlight === true ? this.#deadlines : null;
    switch (outcome.kind) {
      case "appended":
        if (outcome.again && this.#transactions?.mayHaveCommitted) return { kind: "lost", reason: "unsure" };
        deadlines?.accepted();
        if (this.#transactions?.inFlight) this.#transactions.accepted();
        return deadlines === null ? DURABLE : ROW_UPDATED;
      case "threw":
        this.#transactions?.failed(outcome.error);
        return { kind: "failed" };
      case "lost":
        if (deadlines === null || (outcome.reason !== "inbox" && outcome.reason !== "early")) return outcome;
        deadlines.refused(outcome.reason);
        return { kind: outcome.reason === "inbox" ? "stale" : "early" };
    }
  }

  #wakeAt(at: number | null): void {
    if (at !== null) this.#timer ??= new SingleTimer(this.#services.time, this.#session);
    this.#timer?.set(at);
  }
}

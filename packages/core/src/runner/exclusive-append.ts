import type { AppendOp, LostReason, Outcomes } from "../model/op.ts";
import type { RunFacts } from "../model/run.ts";
import { SingleTimer } from "../runtime/timer-queue.ts";
import { DeadlineAppend } from "./deadline-append.ts";
import type { SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import type { StepAttempt } from "./step-attempt.ts";
import { TransactionAppend } from "./transaction-append.ts";

/** How long a session waits when the store's clock is behind the one it goes by. */
export const EARLY_MS = 50;
/** How long after one read of its inbox a session asks for the next, while it does not know what came. */
export const BEHIND_MS = 500;

/** What the store's answer to an append means for the one that was under way by itself. */
export type ExclusiveAnswer =
  /** It is so, and durable; or another append is. `rowTold`: the row knows what is waited for. */
  | { readonly kind: "durable"; readonly rowTold: boolean }
  /** Nothing changed, and it is put to the store again: when the inbox is known, or a little later. */
  | { readonly kind: "behind" | "early" }
  /** Nothing changed, and its step knows. */
  | { readonly kind: "failed" }
  | { readonly kind: "lost"; readonly reason: LostReason };

const DURABLE: ExclusiveAnswer = { kind: "durable", rowTold: false };
const TOLD: ExclusiveAnswer = { kind: "durable", rowTold: true };

/** What goes to the store in an append of its own, one at a time: deadlines that have come, and transactions. */
export class ExclusiveAppends {
  readonly #state: SessionState;
  readonly #services: SessionServices;
  readonly #sleeper: { wake(): void };
  /** Each is made with the first: many runs wait for a message alone. */
  #deadlines: DeadlineAppend | null = null;
  #timer: SingleTimer | null = null;
  #transactions: TransactionAppend | null = null;

  constructor(session: SessionState, services: SessionServices, sleeper: { wake(): void }) {
    this.#state = session;
    this.#services = services;
    this.#sleeper = sleeper;
  }

  /** Whether the store has been asked and has not answered. */
  get inFlight(): boolean {
    return (this.#deadlines?.inFlight ?? false) || (this.#transactions?.inFlight ?? false);
  }

  /** Whether there is something to put to the store. */
  get waiting(): boolean {
    return (this.#deadlines?.waiting ?? false) || (this.#transactions?.waiting ?? false);
  }

  /** Whether something has come that is not known here. */
  get inboxStale(): boolean {
    return this.#deadlines?.inboxStale ?? false;
  }

  /** Whether a wait is due that the store has to be told of first. */
  get hasUnregisteredWait(): boolean {
    return this.#deadlines?.hasUnregisteredWait ?? false;
  }

  /** Has the session woken at the next deadline; not while the store is being told of one that has come. */
  watchDeadlines(): void {
    this.#wakeAt(this.hasUnregisteredWait ? null : this.#state.open.nextDeadline);
  }

  /** Others see to the deadlines, or nobody. */
  unwatchDeadlines(): void {
    this.#wakeAt(null);
  }

  /** What the inbox holds is known again. */
  caughtUp(): void {
    this.#deadlines?.caughtUp();
  }

  /** Looks for deadlines that have come; true if there is one to put to the store. */
  findDue(now: number): boolean {
    this.#deadlines ??= new DeadlineAppend(this.#state, this.#services.time.hasPassed);
    return this.#deadlines.findDue(now);
  }

  /** A body that the store runs. */
  add(body: StepAttempt): void {
    this.#transactions ??= new TransactionAppend(this.#state, this.#services.rejections);
    this.#transactions.add(body);
  }

  takeOp(run: RunFacts): AppendOp | null {
    return this.#deadlines?.takeOp(run) ?? this.#transactions?.takeOp(run) ?? null;
  }

  answered(outcome: Outcomes["append"]): ExclusiveAnswer {
    const timeUp = this.#deadlines?.inFlight === true ? this.#deadlines : null;
    const rowTold = timeUp !== null;
    switch (outcome.kind) {
      case "appended":
        if (outcome.again && this.#transactions?.mayHaveCommitted) return { kind: "lost", reason: "unsure" };
        timeUp?.accepted();
        if (this.#transactions?.inFlight) this.#transactions.accepted();
        return rowTold ? TOLD : DURABLE;
      case "threw":
        this.#transactions?.failed(outcome.error);
        return { kind: "failed" };
      case "lost":
        if (timeUp === null || (outcome.reason !== "inbox" && outcome.reason !== "early")) return outcome;
        timeUp.refused(outcome.reason);
        return { kind: outcome.reason === "inbox" ? "behind" : "early" };
    }
  }

  #wakeAt(at: number | null): void {
    if (at !== null) this.#timer ??= new SingleTimer(this.#services.time, this.#sleeper);
    this.#timer?.set(at);
  }
}

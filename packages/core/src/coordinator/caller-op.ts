import { PawlError } from "../model/errors.ts";
import type { Op, Outcomes, RunView } from "../model/op.ts";
import type { Conclusion } from "../rules/conclude.ts";
import type { Expiring } from "../runtime/timeout-queue.ts";

/** The outcome of any op. */
export type AnyOutcome = Outcomes[Op["kind"]];

/** What a caller's op reports to the coordinator. */
export interface CallerOpEvents {
  /** The outcome is known, or the op failed. */
  onAnswered(caller: CallerOp): void;
  /** The op failed, because the store did not answer within the timeout. */
  onExpired(caller: CallerOp): void;
  /** The run has changed since it was read: read it and decide the op again. */
  onAgain(caller: CallerOp): void;
}

/** An op of a caller, from its submission to its outcome. It waits in the queue for the next batch. */
export class CallerOp implements Expiring {
  readonly kind = "op";
  readonly op: Op;
  readonly expiresAt: number;
  /** The run of the op as it was read. Null if the op is decided without it. */
  view: RunView | null = null;
  /** How often the op was decided. */
  decisions = 0;
  /** Whether the outcome is known or the op failed. It is then sent no more. */
  isAnswered = false;
  readonly #events: CallerOpEvents;
  readonly #resolve: (outcome: AnyOutcome) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    op: Op,
    expiresAt: number,
    events: CallerOpEvents,
    resolve: (outcome: AnyOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.op = op;
    this.expiresAt = expiresAt;
    this.#events = events;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(conclusion: Conclusion): void {
    if (conclusion.kind === "outcome") {
      this.markAnswered();
      this.#resolve(conclusion.outcome);
    } else if (!this.isAnswered) {
      this.#events.onAgain(this);
    }
  }

  /** The outcome is known, and the caller gets it at the end of the turn. Neither a timeout nor a stop replaces it. */
  markAnswered(): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    this.#events.onAnswered(this);
  }

  fail(error: unknown): void {
    this.markAnswered();
    this.#reject(error);
  }

  expire(): void {
    this.fail(unavailable(this.op));
    this.#events.onExpired(this);
  }
}

export function tooLarge(op: Op, bytes: number): PawlError {
  return new PawlError(
    "PAYLOAD_TOO_LARGE",
    `${nameOf(op)} has ${bytes} bytes, more than one commit can hold; nothing changed`,
  );
}

export function unavailable(op: Op, cause?: Error): PawlError {
  const why = cause === undefined ? "the store did not answer" : `the store failed (${cause.message})`;
  const text = `${why}, so the ${nameOf(op)} may or may not have been applied; repeat it with the same id`;
  return new PawlError("STORE_UNAVAILABLE", text, { cause });
}

function nameOf(op: Op): string {
  return "runId" in op ? `${op.kind} of run ${op.runId}` : op.kind;
}

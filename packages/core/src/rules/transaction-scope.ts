import { PawlError } from "../model/errors.ts";
import type { Answer, InTransaction, Transition } from "../model/transition.ts";

/** A transition that was asked for inside a transaction: applied when the body has returned. */
export interface Enlisted {
  readonly transition: Transition;
  settle(answer: Answer): void;
}

/** How the code of a transition ended. */
export type TransactionEnd =
  | { readonly kind: "returned"; readonly enlisted: readonly Enlisted[] }
  | { readonly kind: "threw"; readonly error: unknown };

/**
 * What belongs to a transaction that user code has in its hands, and is not for its hands: whether it is open, and what was
 * asked of the engine in it.
 */
export class TransactionScope {
  readonly #enlisted: Enlisted[] = [];
  #open = true;
  #spoiled: { readonly error: unknown } | null = null;

  /** Throws when the body has returned. */
  check(): void {
    if (this.#open) return;
    throw new PawlError("TX_INVALID", "the transaction is over: use tx only inside the body that it was given to");
  }

  /** Has the transition applied with the transaction. */
  enlist(transition: Transition): Promise<Answer> {
    this.check();
    return new Promise((settle) => {
      this.#enlisted.push({ transition, settle });
    });
  }

  /** The transaction is not to be: something that was asked for in it can't be done. */
  spoil(error: unknown): void {
    if (this.#open) this.#spoiled ??= { error };
  }

  /** Calls the code with its tx. It has to be done when it returns. */
  run(code: InTransaction, tx: object): TransactionEnd {
    DESKS.set(tx, this);
    try {
      const pending = code(tx);
      if (pending !== undefined) {
        // Whatever it still does finds its transaction closed.
        pending.then(nothing, nothing);
        throw new PawlError(
          "TX_ASYNC",
          "the body of a transaction returned a promise, and this store runs bodies that do not wait; it was rolled back",
        );
      }
      return this.#end();
    } catch (error) {
      return { kind: "threw", error };
    } finally {
      this.#open = false;
    }
  }

  /** As `run`, for a store whose code may wait. */
  async runWaiting(code: InTransaction, tx: object): Promise<TransactionEnd> {
    DESKS.set(tx, this);
    try {
      await code(tx);
      return this.#end();
    } catch (error) {
      return { kind: "threw", error };
    } finally {
      this.#open = false;
    }
  }

  #end(): TransactionEnd {
    return this.#spoiled === null
      ? { kind: "returned", enlisted: this.#enlisted }
      : { kind: "threw", error: this.#spoiled.error };
  }
}

const DESKS = new WeakMap<object, TransactionScope>();

/** The desk of a transaction that `ctx.transaction` gave; null for any other thing. */
export function scopeOf(tx: unknown): TransactionScope | null {
  return typeof tx === "object" && tx !== null ? (DESKS.get(tx) ?? null) : null;
}

function nothing(): void {
  // Nobody waits for it.
}

import { PawlError } from "../model/errors.ts";
import type { Answer, InTransaction, Transition } from "../model/transition.ts";

/** A transition requested inside a transaction. The store applies it when the callback has returned. */
export interface Enlisted {
  readonly transition: Transition;
  settle(answer: Answer): void;
}

/** How the code of a transition ended. */
export type TransactionEnd =
  | { readonly kind: "returned"; readonly enlisted: readonly Enlisted[] }
  | { readonly kind: "threw"; readonly error: unknown };

/**
 * The engine's side of a transaction that user code holds: whether it is open, and the transitions requested in it.
 */
export class TransactionScope {
  readonly #enlisted: Enlisted[] = [];
  #open = true;
  #failed: { readonly error: unknown } | null = null;

  /** Throws if the callback has returned. */
  check(): void {
    if (this.#open) return;
    throw new PawlError("TX_INVALID", "transaction already ended; use tx only inside its callback");
  }

  /** Applies the transition with the transaction. */
  enlist(transition: Transition): Promise<Answer> {
    this.check();
    return new Promise((settle) => {
      this.#enlisted.push({ transition, settle });
    });
  }

  /** Rolls the transaction back when its callback returns, because a request in it failed. */
  fail(error: unknown): void {
    if (this.#open) this.#failed ??= { error };
  }

  /** Calls the code with its tx. The code must be done when it returns. */
  run(code: InTransaction, tx: object): TransactionEnd {
    SCOPES.set(tx, this);
    try {
      const pending = code(tx);
      if (pending !== undefined) {
        // Anything it does later finds the transaction closed.
        pending.then(nothing, nothing);
        throw new PawlError(
          "TX_ASYNC",
          "transaction callback returned a promise, but this store runs synchronous callbacks; the transaction was rolled back",
        );
      }
      return this.#end();
    } catch (error) {
      return { kind: "threw", error };
    } finally {
      this.#open = false;
    }
  }

  /** Like `run`, for a store whose code may be asynchronous. */
  async runWaiting(code: InTransaction, tx: object): Promise<TransactionEnd> {
    SCOPES.set(tx, this);
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
    return this.#failed === null
      ? { kind: "returned", enlisted: this.#enlisted }
      : { kind: "threw", error: this.#failed.error };
  }
}

const SCOPES = new WeakMap<object, TransactionScope>();

/** The scope of a `tx` that `ctx.transaction` passed to its callback. Null for any other value. */
export function scopeOf(tx: unknown): TransactionScope | null {
  return typeof tx === "object" && tx !== null ? (SCOPES.get(tx) ?? null) : null;
}

function nothing(): void {
  // The result is not needed.
}

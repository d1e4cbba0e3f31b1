import { PawlError } from "../model/errors.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "../model/op.ts";
import type { EngineTx } from "../model/tx.ts";
import { conclude } from "../rules/conclude.ts";
import { decide } from "../rules/decide.ts";
import { scopeOf, type TransactionScope } from "../rules/transaction-scope.ts";
import type { Log } from "../runtime/log.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

/** Ops that can be part of a transaction. */
export type EnlistedOp = Extract<Op, { kind: "start" | "send" | "emit" }>;

/** Options of a call that can be part of the caller's transaction. */
export interface WithinTx {
  /**
   * A transaction on the store's database: the `tx` of `ctx.transaction`, or a connection of yours with an open transaction. The call
   * takes effect when the transaction commits.
   */
  readonly tx?: EngineTx;
}

/**
 * Submits an op inside a transaction. In a `ctx.transaction` the op is applied at the commit, so the outcome only states that it was
 * queued or started.
 */
export async function submitWithin<O extends EnlistedOp>(
  { store, log }: { readonly store: Store; readonly log: Log },
  tx: EngineTx,
  build: () => O,
): Promise<OutcomeOf<O>> {
  const scope = scopeOf(tx);
  try {
    const op = build();
    return (await (scope === null ? apply(store, tx, op) : enlist(scope, log, op, store.now()))) as OutcomeOf<O>;
  } catch (error) {
    // The transaction function may not await this call, so the error must roll the transaction back.
    scope?.fail(error);
    throw error;
  }
}

function enlist(scope: TransactionScope, log: Log, op: EnlistedOp, now: number): OutcomeOf<EnlistedOp> {
  const decision = decide(null, op, now);
  if (decision.kind === "outcome") return decision.outcome as OutcomeOf<EnlistedOp>;
  void scope.enlist(decision.transition).then((answer) => {
    if (answer.kind === "refused")
      log("warn", "op inside a transaction was refused", { op: op.kind, reason: answer.reason });
  });
  if (op.kind === "start") return { kind: "started" };
  const queued: SendOutcome & EmitOutcome = { kind: "queued", id: op.post.id };
  return queued;
}

async function apply(store: Store, tx: EngineTx, op: EnlistedOp): Promise<OutcomeOf<EnlistedOp>> {
  const decision = decide(null, op, store.now());
  if (decision.kind === "outcome") return decision.outcome as OutcomeOf<EnlistedOp>;
  if (store.commitWithin === undefined) {
    throw new PawlError(
      "TX_UNSUPPORTED",
      `this store does not support the tx option; ${op.kind} was not done; call it without tx`,
    );
  }
  try {
    const { answers } = await store.commitWithin(tx, [decision.transition]);
    const [answer] = answers;
    if (answer === undefined) throw new Error("commitWithin returned no answer");
    const conclusion = conclude(op, answer, false);
    if (conclusion.kind === "again") throw new Error(`op ${op.kind} cannot be decided again inside a transaction`);
    return conclusion.outcome as OutcomeOf<EnlistedOp>;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const why = `the transaction cannot write: ${error.message}; ${op.kind} was not done`;
    throw new PawlError("TX_INVALID", `${why}; start the transaction with BEGIN IMMEDIATE`, { cause: error });
  }
}

import { PawlError } from "../model/errors.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "../model/op.ts";
import type { EngineTx } from "../model/tx.ts";
import { conclude } from "../rules/conclude.ts";
import { decide } from "../rules/decide.ts";
import { scopeOf, type TransactionScope } from "../rules/transaction-scope.ts";
import type { Log } from "../runtime/log.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

/** What can be asked for inside a transaction. */
export type EnlistedOp = Extract<Op, { kind: "start" | "send" | "emit" }>;

/** For a call that may be a part of the caller's own transaction. */
export interface WithinTx {
  /**
   * A transaction on the store's own database, as `ctx.transaction` gives it or open on a connection of yours. What is asked for
   * happens when it commits, and never if it does not.
   */
  readonly tx?: EngineTx;
}

/**
 * Has an op done inside a transaction. Where the transaction is one of `ctx.transaction`, it is done with the commit, and the
 * outcome tells no more than that it is on its way.
 */
export async function submitWithin<O extends EnlistedOp>(
  { store, log }: { readonly store: Store; readonly log: Log },
  tx: EngineTx,
  build: () => O,
): Promise<OutcomeOf<O>> {
  const session = scopeOf(tx);
  try {
    const op = build();
    return (await (session === null ? apply(store, tx, op) : enlist(session, log, op, store.now()))) as OutcomeOf<O>;
  } catch (error) {
    // The body can't wait to hear of it: its transaction is not to be.
    session?.fail(error);
    throw error;
  }
}

function enlist(session: TransactionScope, log: Log, op: EnlistedOp, now: number): OutcomeOf<EnlistedOp> {
  const decision = decide(null, op, now);
  if (decision.kind === "outcome") return decision.outcome as OutcomeOf<EnlistedOp>;
  void session.enlist(decision.transition).then((answer) => {
    if (answer.kind === "refused")
      log("warn", `${op.kind} inside a transaction was refused`, { reason: answer.reason });
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
      `the store can't take part in a transaction of yours; ${op.kind} was not done`,
    );
  }
  try {
    const { answers } = await store.commitWithin(tx, [decision.transition]);
    const [answer] = answers;
    if (answer === undefined) throw new Error("a commit answers each of its transitions");
    const conclusion = conclude(op, answer, false);
    if (conclusion.kind === "again") throw new Error(`op ${op.kind} can't be asked again`);
    return conclusion.outcome as OutcomeOf<EnlistedOp>;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const why = `the transaction can't write, so ${op.kind} was not done: ${error.message}`;
    throw new PawlError("TX_INVALID", `${why}. Begin it with BEGIN IMMEDIATE`, { cause: error });
  }
}

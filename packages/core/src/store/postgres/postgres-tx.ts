import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { PostgresTx } from "../../model/tx.ts";
import { type TransactionEnd, TxDesk } from "../tx-desk.ts";
import type { Connection } from "./database.ts";
import { checkStatement } from "./statement-text.ts";
import { storeErrorOf } from "./store-error-of.ts";
import { BRIEFLY } from "./writing.ts";

/**
 * Runs user code inside the transaction that is open on the connection. What it did stays if it returned; else it is undone alone.
 * A connection that broke is an error of the store, whatever the code made of it.
 */
export async function runCode(connection: Connection, code: InTransaction): Promise<TransactionEnd> {
  await connection.query("SAVEPOINT pawl_transaction");
  const desk = new TxDesk();
  const tx: PostgresTx = {
    async query<Row>(text: string, values: readonly unknown[] = []) {
      desk.check();
      checkStatement(text);
      const { rows, rowCount } = await connection.queryPlain(text, values);
      return { rows: rows as Row[], rowCount };
    },
  };
  const end = await desk.runWaiting(code, tx);
  if (connection.broken !== null) throw storeErrorOf(connection.broken, false);
  return end.kind === "threw" ? undone(connection, end) : kept(connection, end);
}

async function undone(connection: Connection, end: TransactionEnd): Promise<TransactionEnd> {
  await connection.query(`ROLLBACK TO SAVEPOINT pawl_transaction; RELEASE SAVEPOINT pawl_transaction; ${BRIEFLY}`);
  return end;
}

/** A statement that failed has spoiled what came before it, even if the code made nothing of it. */
async function kept(connection: Connection, end: TransactionEnd): Promise<TransactionEnd> {
  try {
    await connection.query(`RELEASE SAVEPOINT pawl_transaction; ${BRIEFLY}`);
    return end;
  } catch (cause) {
    if (connection.broken !== null) throw cause;
    const text = "a statement of the transaction failed, so nothing of it can be kept; let the error pass";
    return undone(connection, { kind: "threw", error: new PawlError("TX_INVALID", text, { cause }) });
  }
}

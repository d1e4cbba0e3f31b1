import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { PostgresTx } from "../../model/tx.ts";
import { type TransactionEnd, TxDesk } from "../tx-desk.ts";
import type { PostgresClient } from "./driver.ts";
import { checkStatement } from "./statement-text.ts";
import { breaksConnection } from "./store-error-of.ts";

/** The extended protocol takes one statement at a time: a second one can't end the transaction. */
const EXTENDED = { queryMode: "extended" } as const;

/**
 * Runs user code inside the transaction that is open on the client. What it did stays if it returned; else it is undone alone.
 * A connection that broke is an error of the store, whatever the code made of it.
 */
export async function runCode(client: PostgresClient, code: InTransaction): Promise<TransactionEnd> {
  await client.query("SAVEPOINT pawl_transaction");
  const desk = new TxDesk();
  let lost: { readonly error: unknown } | null = null;
  const tx: PostgresTx = {
    async query<Row>(text: string, values: readonly unknown[] = []) {
      desk.check();
      checkStatement(text);
      try {
        const { rows, rowCount } = await client.query({ ...EXTENDED, text, values: [...values] });
        return { rows: rows as Row[], rowCount };
      } catch (error) {
        if (breaksConnection(error)) lost ??= { error };
        throw error;
      }
    },
  };
  const end = await desk.runWaiting(code, tx);
  const broken = lost as { readonly error: unknown } | null;
  if (broken !== null) throw broken.error;
  return end.kind === "threw" ? undone(client, end) : kept(client, end);
}

async function undone(client: PostgresClient, end: TransactionEnd): Promise<TransactionEnd> {
  await client.query("ROLLBACK TO SAVEPOINT pawl_transaction; RELEASE SAVEPOINT pawl_transaction");
  return end;
}

/** A statement that failed has spoiled what came before it, even if the code made nothing of it. */
async function kept(client: PostgresClient, end: TransactionEnd): Promise<TransactionEnd> {
  try {
    await client.query("RELEASE SAVEPOINT pawl_transaction");
    return end;
  } catch (cause) {
    if (breaksConnection(cause)) throw cause;
    const text = "a statement of the transaction failed, so nothing of it can be kept; let the error pass";
    return undone(client, { kind: "threw", error: new PawlError("TX_INVALID", text, { cause }) });
  }
}

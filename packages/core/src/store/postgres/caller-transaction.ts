import { PawlError } from "../../model/errors.ts";
import type { CommitWriter, Decide, Decision } from "./commit-writer.ts";
import { Connection } from "./database.ts";
import { ignoreClientErrors, type PostgresClient } from "./driver.ts";
import { isConflict } from "./errors.ts";
import { KnownRows, RowsToRead } from "./known-rows.ts";

const ROUNDS_MAX = 100;

/**
 * Decides and writes inside the caller's open transaction; the result is durable when the caller commits. After an error nothing of it
 * remains, so the caller may still commit. Locked rows stay locked until the caller's transaction ends.
 */
export async function writeWithin<Result>(writer: CommitWriter, tx: unknown, decide: Decide<Result>): Promise<Result> {
  const connection = new Connection(writer.database, ignoreClientErrors(checkClient(tx)));
  await begin(connection);
  const toRead = new RowsToRead();
  try {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const done = await attempt(writer, connection, toRead, decide);
      if (done !== null) {
        await connection.query("RELEASE SAVEPOINT pawl_within");
        return done.result;
      }
    }
    throw new Error(`a commit still needs more rows after ${ROUNDS_MAX} reads`);
  } catch (error) {
    await undo(connection);
    throw error;
  } finally {
    writer.forget(toRead.runs);
  }
}

/** Returns null if rows must be read first, or if an id was inserted meanwhile. */
async function attempt<Result>(
  writer: CommitWriter,
  connection: Connection,
  toRead: RowsToRead,
  decide: Decide<Result>,
): Promise<Decision<Result> | null> {
  const rows = new KnownRows(null);
  await writer.lock(connection, toRead);
  if (toRead.size > 0) await writer.read(connection, rows, toRead);
  const { stage, decision, failure } = writer.decide(rows, "verified", decide);
  if (failure !== null) throw failure.error;
  for (const runId of rows.runs.keys()) toRead.runs.add(runId);
  toRead.add(stage.wanted);
  if (decision === null) return null;
  try {
    return (await writer.send(connection, stage, decision)) === null ? null : decision;
  } catch (error) {
    if (!isConflict(error) || connection.broken !== null) throw error;
    await connection.query("ROLLBACK TO SAVEPOINT pawl_within");
    return null;
  }
}

async function begin(connection: Connection): Promise<void> {
  try {
    await connection.query("SAVEPOINT pawl_within");
    const known = await connection.call("SELECT (to_regclass('@.migrations') IS NOT NULL)::text AS json", []);
    if (known === true) return;
  } catch (cause) {
    if (connection.broken !== null) throw cause;
    throw invalid("tx has no open transaction that accepts statements; run BEGIN first", cause);
  }
  await undo(connection);
  throw invalid("tx is a connection to a database without this store's schema; use one to the store's database");
}

async function undo(connection: Connection): Promise<void> {
  if (connection.broken !== null) return;
  await connection.query("ROLLBACK TO SAVEPOINT pawl_within; RELEASE SAVEPOINT pawl_within");
}

function checkClient(tx: unknown): PostgresClient {
  if (typeof tx === "object" && tx !== null && typeof (tx as { query?: unknown }).query === "function") {
    return tx as PostgresClient;
  }
  throw invalid("tx has no method `query`; pass the client, or the tx of ctx.transaction");
}

function invalid(message: string, cause?: unknown): PawlError {
  return new PawlError("TX_INVALID", message, { cause });
}

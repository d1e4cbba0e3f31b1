import { PawlError } from "../../model/errors.ts";
import type { CommitWriter, Decide, Decision } from "./commit-writer.ts";
import { Connection } from "./database.ts";
import { ignoreClientErrors, type PostgresClient } from "./driver.ts";
import { isConflict } from "./errors.ts";
import { KnownRows, RowsToRead } from "./known-rows.ts";

const ROUNDS_MAX = 100;

/**
 * Decides and writes inside a transaction that the caller has open: it is durable when the caller commits. Whole, or not at all:
 * the caller may commit after an error. What it has locked stays locked until then.
 */
export async function writeWithin<Result>(writing: CommitWriter, tx: unknown, decide: Decide<Result>): Promise<Result> {
  const connection = new Connection(writing.database, ignoreClientErrors(checkClient(tx)));
  await begin(connection);
  const asked = new RowsToRead();
  try {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const done = await attempt(writing, connection, asked, decide);
      if (done !== null) {
        await connection.query("RELEASE SAVEPOINT pawl_within");
        return done.result;
      }
    }
    throw new Error(`a commit wants to know more and more after ${ROUNDS_MAX} rounds`);
  } catch (error) {
    await undo(connection);
    throw error;
  } finally {
    writing.forget(asked.runs);
  }
}

/** Null: something has to be read first, or an id came meanwhile. */
async function attempt<Result>(
  writing: CommitWriter,
  connection: Connection,
  asked: RowsToRead,
  decide: Decide<Result>,
): Promise<Decision<Result> | null> {
  const rows = new KnownRows(null);
  await writing.lock(connection, asked);
  if (asked.size > 0) await writing.read(connection, rows, asked);
  const { stage, decision, doubt } = writing.decide(rows, "careful", decide);
  if (doubt !== null) throw doubt.error;
  for (const runId of rows.runs.keys()) asked.runs.add(runId);
  asked.add(stage.wanted);
  if (decision === null) return null;
  try {
    return (await writing.send(connection, stage, decision)) === null ? null : decision;
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
    throw invalid("has no transaction open that takes a statement: begin one", cause);
  }
  await undo(connection);
  throw invalid("is a connection to a database that has no such schema: use one to the store's own");
}

async function undo(connection: Connection): Promise<void> {
  if (connection.broken !== null) return;
  await connection.query("ROLLBACK TO SAVEPOINT pawl_within; RELEASE SAVEPOINT pawl_within");
}

function checkClient(tx: unknown): PostgresClient {
  if (typeof tx === "object" && tx !== null && typeof (tx as { query?: unknown }).query === "function") {
    return tx as PostgresClient;
  }
  throw invalid("has no method `query`: hand in the client, or the tx of ctx.transaction");
}

function invalid(why: string, cause?: unknown): PawlError {
  return new PawlError("TX_INVALID", `what was given as tx ${why}; nothing was done`, { cause });
}

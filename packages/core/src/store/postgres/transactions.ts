import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { PostgresTx } from "../../model/tx.ts";
import { type Enlisted, type TransactionEnd, TransactionScope } from "../../rules/transaction-scope.ts";
import { StoreError } from "../store-error.ts";
import { type CommitWriter, type Decide, type Decision, SHORT_TIMEOUTS } from "./commit-writer.ts";
import type { Connection } from "./database.ts";
import { isConflict, storeErrorOf } from "./errors.ts";
import { KnownRows, RowsToRead } from "./known-rows.ts";

/** How often user code is executed again after a conflict, and how many rounds of reads one commit may have. */
const CONFLICTS_MAX = 20;
const ROUNDS_MAX = 100;

/**
 * Writes a commit that contains user code, in one transaction on its own connection. No run is locked while the code runs. The guards
 * are checked before it, and again after it under locks.
 */
export async function writeWithCode<Result>(writer: CommitWriter, decide: Decide<Result>): Promise<Result> {
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
    const done = await writer.database.use((connection) => attempt(writer, connection, decide));
    if (done !== null) return done.result;
  }
  throw new StoreError("STORE_BUSY", "notApplied", `the commit had ${CONFLICTS_MAX} conflicts with other writers`);
}

/** Returns null after a conflict. */
async function attempt<Result>(
  writer: CommitWriter,
  connection: Connection,
  decide: Decide<Result>,
): Promise<Decision<Result> | null> {
  await connection.query("BEGIN");
  try {
    const answers = new DeferredAnswers();
    const toRead = new RowsToRead();
    const decision = await decideWithCode(writer, connection, { decide, answers, toRead });
    if (decision === null) {
      await connection.rollBack();
      return null;
    }
    const { command } = await connection.query("COMMIT");
    if (command !== "COMMIT") return null;
    writer.forget(toRead.runs);
    answers.settle();
    return decision;
  } catch (error) {
    await connection.rollBack();
    if (isConflict(error)) return null;
    throw error;
  }
}

/** Returns null after a conflict. */
async function decideWithCode<Result>(
  writer: CommitWriter,
  connection: Connection,
  parts: { readonly decide: Decide<Result>; readonly answers: DeferredAnswers; readonly toRead: RowsToRead },
): Promise<Decision<Result> | null> {
  const { decide, answers, toRead } = parts;
  const ends = new Map<InTransaction, TransactionEnd>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const rows = new KnownRows(null);
    if (ends.size > 0) await writer.lock(connection, toRead);
    if (toRead.size > 0) await writer.read(connection, rows, toRead);
    const { stage, decision, failure } = writer.decide(rows, "verified", decide, ends);
    if (failure !== null) throw failure.error;
    toRead.add(stage.wanted);
    for (const runId of rows.runs.keys()) toRead.runs.add(runId);
    if (decision === null) {
      if (stage.wanted.size === 0 && stage.codeWanted !== null) {
        ends.set(stage.codeWanted, answers.keep(await runCode(connection, stage.codeWanted)));
      }
      continue;
    }
    // The code ran but its commit is refused now: another worker took the run over, so the code's changes must be rolled back.
    if ([...ends].some(([code, { kind }]) => kind === "returned" && !stage.codeUsed.has(code))) return null;
    return (await writer.send(connection, stage, decision)) === null ? null : decision;
  }
  throw new Error(`a commit still needs more rows after ${ROUNDS_MAX} reads`);
}

/** Answers to the ops of user code. They are delivered after the commit, and only the last answer of each op counts. */
class DeferredAnswers {
  readonly #last = new Map<Enlisted, Parameters<Enlisted["settle"]>[0]>();

  keep(end: TransactionEnd): TransactionEnd {
    if (end.kind === "threw") return end;
    const enlisted = end.enlisted.map((one) => ({
      transition: one.transition,
      settle: (answer: Parameters<Enlisted["settle"]>[0]) => void this.#last.set(one, answer),
    }));
    return { kind: "returned", enlisted };
  }

  settle(): void {
    for (const [enlisted, answer] of this.#last) enlisted.settle(answer);
  }
}

/**
 * Runs user code inside the open transaction. If the code throws, only its own changes are rolled back. A broken connection is a store
 * error, even if the code caught it.
 */
export async function runCode(connection: Connection, code: InTransaction): Promise<TransactionEnd> {
  await connection.query("SAVEPOINT pawl_transaction");
  const scope = new TransactionScope();
  const tx: PostgresTx = {
    async query<Row>(text: string, values: readonly unknown[] = []) {
      scope.check();
      checkStatement(text);
      const { rows, rowCount } = await connection.queryPlain(text, values);
      return { rows: rows as Row[], rowCount };
    },
  };
  const end = await scope.runWaiting(code, tx);
  if (connection.broken !== null) throw storeErrorOf(connection.broken, false);
  return end.kind === "threw" ? undoChanges(connection, end) : keepChanges(connection, end);
}

async function undoChanges(connection: Connection, end: TransactionEnd): Promise<TransactionEnd> {
  await connection.query(
    `ROLLBACK TO SAVEPOINT pawl_transaction; RELEASE SAVEPOINT pawl_transaction; ${SHORT_TIMEOUTS}`,
  );
  return end;
}

/** PostgreSQL aborts the transaction after a failed statement, even if the code caught the error. */
async function keepChanges(connection: Connection, end: TransactionEnd): Promise<TransactionEnd> {
  try {
    await connection.query(`RELEASE SAVEPOINT pawl_transaction; ${SHORT_TIMEOUTS}`);
    return end;
  } catch (cause) {
    if (connection.broken !== null) throw cause;
    const text = "a statement of the transaction failed, so its changes cannot be kept; do not catch the error";
    return undoChanges(connection, { kind: "threw", error: new PawlError("TX_INVALID", text, { cause }) });
  }
}

/** First words of allowed statements. None of them ends the transaction. */
const ALLOWED =
  /^\s*(?:select|values|table|with|insert|update|delete|merge|create|alter|drop|truncate|explain|lock|copy|call|do)\b/i;
/** Comments before the first word. */
const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

const EXCERPT_MAX = 80;

/** Rejects statements that would end the transaction or change its mode. The server itself rejects more than one statement. */
export function checkStatement(sql: string): void {
  if (ALLOWED.test(sql.replace(COMMENTS, ""))) return;
  const line = sql.trim().replace(/\s+/g, " ").slice(0, EXCERPT_MAX);
  throw new PawlError(
    "TX_STATEMENT",
    `statement not allowed in a transaction; use statements that read or write rows or tables: ${line}`,
  );
}

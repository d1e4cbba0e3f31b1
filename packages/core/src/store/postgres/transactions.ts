import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { PostgresTx } from "../../model/tx.ts";
import { type Enlisted, type TransactionEnd, TransactionScope } from "../../rules/transaction-scope.ts";
import { StoreError } from "../store-error.ts";
import { BRIEFLY, type CommitWriter, type Decide, type Decision } from "./commit-writer.ts";
import type { Connection } from "./database.ts";
import { isConflict, storeErrorOf } from "./errors.ts";
import { KnownRows, RowsToRead } from "./known-rows.ts";

/** How often code is run again because others were faster, and how often a commit may find that it needs to know more. */
const CONFLICTS_MAX = 20;
const ROUNDS_MAX = 100;

/**
 * A commit with user code in it, in one transaction on a connection of its own. Nothing is locked while the code runs: what its
 * guards said before is asked again after it, under locks.
 */
export async function writeWithCode<Result>(writing: CommitWriter, decide: Decide<Result>): Promise<Result> {
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
    const done = await writing.database.use((connection) => attempt(writing, connection, decide));
    if (done !== null) return done.result;
  }
  throw new StoreError("STORE_BUSY", "notApplied", `others were faster ${CONFLICTS_MAX} times`);
}

/** Null: others were faster. */
async function attempt<Result>(
  writing: CommitWriter,
  connection: Connection,
  decide: Decide<Result>,
): Promise<Decision<Result> | null> {
  await connection.query("BEGIN");
  try {
    const answers = new Answers();
    const asked = new RowsToRead();
    const decision = await decided(writing, connection, { decide, answers, asked });
    if (decision === null) {
      await connection.rollBack();
      return null;
    }
    const { command } = await connection.query("COMMIT");
    if (command !== "COMMIT") return null;
    writing.forget(asked.runs);
    answers.settle();
    return decision;
  } catch (error) {
    await connection.rollBack();
    if (isConflict(error)) return null;
    throw error;
  }
}

/** Null: others were faster. */
async function decided<Result>(
  writing: CommitWriter,
  connection: Connection,
  parts: { readonly decide: Decide<Result>; readonly answers: Answers; readonly asked: RowsToRead },
): Promise<Decision<Result> | null> {
  const { decide, answers, asked } = parts;
  const ends = new Map<InTransaction, TransactionEnd>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const rows = new KnownRows(null);
    if (ends.size > 0) await writing.lock(connection, asked);
    if (asked.size > 0) await writing.read(connection, rows, asked);
    const { stage, decision, doubt } = writing.decide(rows, "careful", decide, ends);
    if (doubt !== null) throw doubt.error;
    asked.add(stage.wanted);
    for (const runId of rows.runs.keys()) asked.runs.add(runId);
    if (decision === null) {
      if (stage.wanted.size === 0 && stage.codeWanted !== null) {
        ends.set(stage.codeWanted, answers.keep(await runCode(connection, stage.codeWanted)));
      }
      continue;
    }
    // Code that ran and is not wanted any more: its run was taken over meanwhile, and what it did must go.
    if ([...ends].some(([code, { kind }]) => kind === "returned" && !stage.codeUsed.has(code))) return null;
    return (await writing.send(connection, stage, decision)) === null ? null : decision;
  }
  throw new Error(`a commit wants to know more and more after ${ROUNDS_MAX} rounds`);
}

/** Answers to what was asked for in the code: given when the transaction is committed, and only the last of each counts. */
class Answers {
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
 * Runs user code inside the transaction that is open on the connection. What it did stays if it returned; else it is undone alone.
 * A connection that broke is an error of the store, whatever the code made of it.
 */
export async function runCode(connection: Connection, code: InTransaction): Promise<TransactionEnd> {
  await connection.query("SAVEPOINT pawl_transaction");
  const desk = new TransactionScope();
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

/** What may begin a statement of a transaction: none of these ends it. */
const ALLOWED =
  /^\s*(?:select|values|table|with|insert|update|delete|merge|create|alter|drop|truncate|explain|lock|copy|call|do)\b/i;
/** Comments before the first word. */
const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

const EXCERPT_MAX = 80;

/** Refuses what would end the transaction, or move it to another state. The server itself refuses more than one statement. */
export function checkStatement(sql: string): void {
  if (ALLOWED.test(sql.replace(COMMENTS, ""))) return;
  const line = sql.trim().replace(/\s+/g, " ").slice(0, EXCERPT_MAX);
  throw new PawlError(
    "TX_STATEMENT",
    `a transaction can't take this statement, which neither reads nor writes rows or tables: ${line}`,
  );
}

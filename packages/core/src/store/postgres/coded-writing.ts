import type { InTransaction } from "../../model/transition.ts";
import { StoreError } from "../store-error.ts";
import type { Enlisted, TransactionEnd } from "../tx-desk.ts";
import type { Connection } from "./database.ts";
import { KnownRows, Wanted } from "./known-rows.ts";
import { runCode } from "./postgres-tx.ts";
import { isConflict } from "./store-error-of.ts";
import type { Decide, Decision, Writing } from "./writing.ts";

/** How often code is run again because others were faster, and how often a commit may find that it needs to know more. */
const CONFLICTS_MAX = 20;
const ROUNDS_MAX = 100;

/**
 * A commit with user code in it, in one transaction on a connection of its own. Nothing is locked while the code runs: what its
 * guards said before is asked again after it, under locks.
 */
export async function writeCoded<Result>(writing: Writing, decide: Decide<Result>): Promise<Result> {
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
    const done = await writing.database.use((connection) => attempt(writing, connection, decide));
    if (done !== null) return done.result;
  }
  throw new StoreError("STORE_BUSY", "notApplied", `others were faster ${CONFLICTS_MAX} times`);
}

/** Null: others were faster. */
async function attempt<Result>(
  writing: Writing,
  connection: Connection,
  decide: Decide<Result>,
): Promise<Decision<Result> | null> {
  await connection.query("BEGIN");
  try {
    const answers = new Answers();
    const asked = new Wanted();
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
  writing: Writing,
  connection: Connection,
  parts: { readonly decide: Decide<Result>; readonly answers: Answers; readonly asked: Wanted },
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

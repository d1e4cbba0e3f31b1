import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createEngine, workflow } from "../index.ts";
import { findDriver, type SqliteDatabase, type SqliteStatement } from "../store/sqlite/driver.ts";
import { sqliteStore } from "../store/sqlite/index.ts";

/**
 * Commits, statements and bytes written per step. The counts are the same on every host, unlike times. A broken ceiling means
 * that a step became more expensive; raise it only with a reason.
 */

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Counts {
  commits: number;
  statements: number;
}

/** Wraps `database` and counts its commits and statements. */
function counted(database: SqliteDatabase): { readonly counts: Counts; readonly source: SqliteDatabase } {
  const counts: Counts = { commits: 0, statements: 0 };
  const count = (sql: string): void => {
    if (sql === "BEGIN IMMEDIATE") counts.commits += 1;
    else if (!/^(?:BEGIN|COMMIT|ROLLBACK|PRAGMA)/.test(sql)) counts.statements += 1;
  };
  const prepare = (sql: string): SqliteStatement => {
    const statement = database.prepare(sql);
    const counting =
      <Args extends readonly unknown[], Result>(method: (...args: Args) => Result) =>
      (...args: Args): Result => {
        count(sql);
        return method(...args);
      };
    return {
      run: counting(statement.run.bind(statement)),
      get: counting(statement.get.bind(statement)),
      all: counting(statement.all.bind(statement)),
    };
  };
  return { counts, source: { exec: (sql) => database.exec(sql), prepare, close: () => database.close() } };
}

/** Returns the cost per step of `runs` concurrent runs, including their starts and ends. */
async function costOf(runs: number, steps: number): Promise<Readonly<Record<keyof Counts | "bytes", number>>> {
  const path = join(folder, "counted.db");
  const Driver = await findDriver();
  const database = new Driver(path);
  const { counts, source } = counted(database);
  const stepping = workflow("stepping", async (ctx, count: number) => {
    for (let n = 0; n < count; n += 1) await ctx.step(`step-${n}`, async () => ({ n, ok: true }));
  });
  // No checkpoint happens while bytes are counted.
  const store = sqliteStore(source, { walBytesMax: 2 ** 30 });
  const engine = await createEngine({ store, workflows: [stepping] });
  database.exec("PRAGMA wal_autocheckpoint = 0");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const before = { ...counts };
  const handles = await Promise.all(Array.from({ length: runs }, () => engine.start(stepping, steps)));
  await Promise.all(handles.map((handle) => handle.result()));
  const after = { ...counts };
  const bytes = statSync(`${path}-wal`).size;
  await engine.shutdown();
  database.close();
  const all = runs * steps;
  return {
    commits: (after.commits - before.commits) / all,
    statements: (after.statements - before.statements) / all,
    bytes: bytes / all,
  };
}

it("a step of a hundred concurrent runs shares its commit and its statements", async () => {
  const { commits, statements, bytes } = await costOf(100, 10);
  expect(commits).toBeLessThan(0.02);
  expect(statements).toBeLessThan(0.35);
  expect(bytes).toBeLessThan(450);
});

it("a step of a single run takes one commit", async () => {
  const { commits, statements, bytes } = await costOf(1, 200);
  expect(commits).toBeLessThan(1.05);
  expect(statements).toBeLessThan(1.3);
  expect(bytes).toBeLessThan(9_500);
});

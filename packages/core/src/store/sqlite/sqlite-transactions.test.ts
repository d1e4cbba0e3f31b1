import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type Engine, type SqliteTx, workflow } from "../../index.ts";
import { virtualWorld } from "../../testing/virtual-world.ts";
import { findDriver, type SqliteDatabase } from "./driver.ts";
import { sqliteStore } from "./index.ts";

interface Bench {
  readonly engine: Engine;
  readonly database: SqliteDatabase;
  /** Runs all bodies concurrently. Returns the value of each run, or the code or message of its error. */
  outcomes(bodies: readonly ((tx: SqliteTx) => unknown)[]): Promise<unknown[]>;
  lines(): unknown[];
}

async function bench(): Promise<Bench> {
  const Driver = await findDriver();
  const database = new Driver(":memory:");
  database.exec(`CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT`);
  database.exec(`CREATE TABLE line (
    text TEXT UNIQUE, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED) STRICT`);
  database.exec("CREATE TABLE strict (text TEXT UNIQUE ON CONFLICT ROLLBACK) STRICT");
  const world = virtualWorld();
  let bodies: readonly ((tx: SqliteTx) => unknown)[] = [];
  const one = workflow("one", async (ctx, n: number) =>
    ctx.transaction("body", (tx) => bodies[n]?.(tx), { retry: false }),
  );
  const engine = await createEngine({ store: sqliteStore(database), workflows: [one], world, log: () => undefined });
  onTestFinished(async () => {
    await engine.shutdown({ drainMs: 0 });
    database.close();
  });
  return {
    engine,
    database,
    async outcomes(bodyList) {
      bodies = bodyList;
      const runs = await Promise.all(bodyList.map((_, n) => engine.start(one, n)));
      await world.advance("1 s");
      return await Promise.all(runs.map((run) => run.result().catch(({ cause }) => cause.code ?? cause.message)));
    },
    lines: () =>
      database
        .prepare("SELECT text FROM line ORDER BY rowid")
        .all()
        .map((row) => (row as { text: string }).text),
  };
}

const insert = (text: string) => (tx: SqliteTx) => {
  tx.prepare("INSERT INTO line (text) VALUES (?)").run(text);
  return text;
};

describe("the SQLite store's transaction", () => {
  it.each([
    "COMMIT",
    "  /* now */ commit",
    "-- now\nEND",
    "; COMMIT",
    "\uFEFFCOMMIT",
    "ROLLBACK",
    "BEGIN",
    "SAVEPOINT x",
    "RELEASE pawl_transaction",
    "PRAGMA synchronous = OFF",
    "ATTACH 'x.db' AS x",
    "VACUUM",
    "INSERT INTO line (text) VALUES ('x'); COMMIT",
    "INSERT OR ROLLBACK INTO line (text) VALUES ('x')",
    "",
  ])("a SQLite transaction rejects the statement %j", async (sql) => {
    const { outcomes, lines } = await bench();
    const body = (tx: SqliteTx): void => {
      insert("before")(tx);
      tx.exec(sql);
    };
    expect(await outcomes([body, insert("beside")])).toEqual(["TX_STATEMENT", "beside"]);
    expect(lines()).toEqual(["beside"]);
  });

  it.each([
    "INSERT INTO line (text) VALUES ('a; b -- c')",
    "insert into line (text) values ('rollback'); -- the end",
    "INSERT INTO \"line\" ([text]) VALUES ('x')",
    "WITH v (t) AS (SELECT 'y') INSERT INTO line (text) SELECT t FROM v",
  ])("a SQLite transaction accepts the statement %j", async (sql) => {
    const { outcomes, lines } = await bench();
    expect(await outcomes([(tx) => tx.exec(sql)])).toEqual([undefined]);
    expect(lines()).toHaveLength(1);
  });

  it("a SQLite transaction reads and writes every type of value", async () => {
    const { outcomes } = await bench();
    const body = (tx: SqliteTx): unknown =>
      tx.prepare("SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e").all("x", 1.5, 7n, new Uint8Array([1]), null);
    expect(await outcomes([body])).toEqual([[{ a: "x", b: 1.5, c: 7, d: new Uint8Array([1]), e: null }]]);
  });

  it("a SQLite transaction and its statements are closed when its callback returns", async () => {
    const { outcomes, lines } = await bench();
    let kept: SqliteTx | null = null;
    let statement: ReturnType<SqliteTx["prepare"]> | null = null;
    await outcomes([
      (tx) => {
        kept = tx;
        statement = tx.prepare("INSERT INTO line (text) VALUES ('late')");
      },
    ]);
    const closed = expect.objectContaining({ code: "TX_INVALID" });
    expect(() => kept?.exec("INSERT INTO line (text) VALUES ('late')")).toThrow(closed);
    expect(() => statement?.run()).toThrow(closed);
    expect(lines()).toEqual([]);
  });

  it("a SQLite transaction that violates a constraint is rolled back alone", async () => {
    const { outcomes, lines } = await bench();
    const twice = (tx: SqliteTx): void => {
      insert("b")(tx);
      insert("a")(tx);
    };
    const answers = await outcomes([insert("a"), twice, insert("c")]);
    expect(answers).toEqual(["a", expect.stringContaining(""), "c"]);
    expect(lines()).toEqual(["a", "c"]);
  });

  it("a SQLite transaction with a dangling reference fails alone when the commit is refused", async () => {
    const { outcomes, lines } = await bench();
    const dangling = (tx: SqliteTx): void => {
      tx.prepare("INSERT INTO line (text, parent) VALUES ('dangling', 7)").run();
    };
    const answers = await outcomes([insert("a"), dangling, insert("c")]);
    expect([answers[0], answers[2]]).toEqual(["a", "c"]);
    expect(answers[1]).not.toBe(undefined);
    expect(lines()).toEqual(["a", "c"]);
  });

  it("a SQLite transaction that the database rolled back accepts no further statement and fails alone", async () => {
    const { outcomes, lines, database } = await bench();
    const swallowed: unknown[] = [];
    const rolledBack = (tx: SqliteTx): void => {
      tx.exec("INSERT INTO strict VALUES ('x')");
      for (const sql of ["INSERT INTO strict VALUES ('x')", "INSERT INTO line (text) VALUES ('leaked')"]) {
        try {
          tx.exec(sql);
        } catch (error) {
          swallowed.push((error as { code?: unknown }).code);
        }
      }
    };
    const answers = await outcomes([insert("a"), rolledBack, insert("c")]);
    expect([answers[0], answers[2]]).toEqual(["a", "c"]);
    expect(answers[1]).not.toBe(undefined);
    expect(swallowed.filter((code) => code === "TX_INVALID")).toHaveLength(swallowed.length / 2);
    expect(lines()).toEqual(["a", "c"]);
    expect(database.prepare("SELECT * FROM strict").all()).toEqual([]);
  });

  it("a SQLite transaction can read the engine's rows but cannot write around it", async () => {
    const { outcomes, engine, lines } = await bench();
    let row: Promise<unknown> | null = null;
    let round: Promise<unknown> | null = null;
    const body = (tx: SqliteTx): void => {
      insert("a")(tx);
      row = engine.get("nobody");
      round = engine.recover().catch((error: unknown) => error);
    };
    expect(await outcomes([body])).toEqual([undefined]);
    expect(await row).toBe(null);
    await round;
    expect(lines()).toEqual(["a"]);
  });
});

import { afterEach, beforeEach, expect, it } from "vitest";
import type { InTransaction } from "../../model/transition.ts";
import type { SqliteTx } from "../../model/tx.ts";
import { Batch } from "../../rules/batch.ts";
import { draftOf } from "../../rules/run-head.ts";
import type { RunHead } from "../../rules/tables.ts";
import { newRun, record, T0 } from "../../testing/store-contract/builders.ts";
import { Connection } from "./connection.ts";
import { findDriver } from "./driver.ts";
import { cacheOf } from "./head-cache.ts";
import type { SqliteTables } from "./sqlite-tables.ts";

let connection: Connection;

beforeEach(async () => {
  const Driver = await findDriver();
  connection = new Connection(new Driver(":memory:"), "FULL", 1_000_000);
  connection.write(() => {
    for (let n = 0; n < RUNS; n += 1) new Batch(connection.tables, T0).create(newRun(`r${n}`, { owner: "w" }));
  });
});

afterEach(() => connection.database.close());

const RUNS = 40;

/** Adds an inbox entry and makes the run due. */
function makeReady({ runs }: SqliteTables, runId: string, wakeAt: number): void {
  const head = runs.head(runId);
  if (head === null) throw new Error(`run ${runId} not found`);
  const next = draftOf(head);
  next.inboxLast += 1;
  next.wakeAt = wakeAt;
  runs.saveReady(next);
}

/** Reads `inbox_last` and `wake_at` of each run. */
function rows(): unknown[] {
  const found = connection.database.prepare("SELECT inbox_last AS n, wake_at AS at FROM pawl_runs ORDER BY key").all();
  return (found as { readonly n: number; readonly at: number | null }[]).map(({ n, at }) => [n, at]);
}

it("posts to several runs in one commit make each run due with one more entry", () => {
  connection.write(() => {
    for (let n = 0; n < RUNS; n += 1) makeReady(connection.tables, `r${n}`, T0 + 1);
  });
  expect(rows()).toEqual(Array(RUNS).fill([1, T0 + 1]));
});

it("each post in a commit adds one inbox entry", () => {
  connection.write(() => {
    for (const runId of ["r0", "r1", "r0", "r0"]) makeReady(connection.tables, runId, T0 + 1);
  });
  expect(rows().slice(0, 3)).toEqual([
    [3, T0 + 1],
    [1, T0 + 1],
    [0, null],
  ]);
});

it("runs made ready in one commit are each due at their own time", () => {
  connection.write(() => {
    for (let n = 0; n < 3; n += 1) makeReady(connection.tables, `r${n}`, T0 + n);
  });
  expect(rows().slice(0, 3)).toEqual([
    [1, T0],
    [1, T0 + 1],
    [1, T0 + 2],
  ]);
});

it("later reads and writes in the commit see a buffered wake-up", () => {
  connection.write(() => {
    const { runs } = connection.tables;
    makeReady(connection.tables, "r0", T0);
    expect(runs.get("r0")).toMatchObject({ inboxLast: 1, wakeAt: T0 });
    makeReady(connection.tables, "r1", T0);
    const head = runs.head("r1");
    if (head !== null) runs.saveInbox({ ...head, inboxLast: 7 });
  });
  expect(rows().slice(0, 2)).toEqual([
    [1, T0],
    [7, T0],
  ]);
});

it("a run that leaves its topics or gets several entries is written individually", () => {
  const waiters = (): unknown[] => connection.database.prepare("SELECT topics FROM pawl_runs WHERE topics > 0").all();
  connection.write(() => {
    const { runs } = connection.tables;
    const head = runs.head("r0");
    if (head !== null) runs.saveWait({ ...head, topics: 1 }, null);
  });
  expect(waiters()).toHaveLength(1);
  connection.write(() => {
    const { runs } = connection.tables;
    for (const runId of ["r0", "r1"]) {
      const head = runs.head(runId);
      if (head !== null) runs.saveReady({ ...head, topics: 0, inboxLast: runId === "r0" ? 1 : 5, wakeAt: T0 });
    }
  });
  expect(waiters()).toHaveLength(0);
  expect(rows().slice(0, 2)).toEqual([
    [1, T0],
    [5, T0],
  ]);
});

it("user code inside the transaction sees a buffered wake-up", () => {
  const seen: unknown[] = [];
  const code: InTransaction = (tx) => {
    seen.push(...(tx as SqliteTx).prepare("SELECT inbox_last AS n FROM pawl_runs WHERE id = 'r0'").all());
  };
  connection.write(() => {
    makeReady(connection.tables, "r0", T0);
    connection.tables.transact(code);
  });
  expect(seen).toMatchObject([{ n: 1 }]);
});

it("a failed commit discards its buffered wake-ups", () => {
  const fail = (): void => {
    makeReady(connection.tables, "r0", T0);
    end("r2");
    makeReady(connection.tables, "r3", T0);
    throw new Error("it fails");
  };
  expect(() => connection.write(fail)).toThrow("it fails");
  connection.write(() => makeReady(connection.tables, "r1", T0));
  expect(rows().slice(0, 4)).toEqual([
    [0, null],
    [1, T0],
    [0, null],
    [0, null],
  ]);
  expect(connection.tables.runs.get("r2")?.status).toBe("running");
});

function end(runId: string, over: Partial<RunHead> = {}, outcome: string | null = "1"): void {
  const { runs } = connection.tables;
  const head = runs.head(runId);
  if (head === null) throw new Error(`run ${runId} not found`);
  runs.saveOutcome({ ...head, status: "completed", owner: null, wakeAt: null, endedAt: T0 + 5, ...over }, outcome);
}

it("runs that become ready and end in one commit get individual ends", () => {
  connection.write(() => {
    for (const runId of ["r0", "r1", "r2"]) makeReady(connection.tables, runId, T0);
    for (const runId of ["r0", "r1"]) end(runId);
    end("r2", {}, "2");
    end("r3", { status: "failed" }, null);
    end("r4", { epoch: 2, controlId: "c" });
    end("r5", { claims: 3 });
  });
  const rows = connection.database
    .prepare(
      "SELECT status, outcome, inbox_last, wake_at, owner, epoch, claims, ended_at FROM pawl_runs ORDER BY key LIMIT 6",
    )
    .all() as Record<string, unknown>[];
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["completed", "1", 1, null, null, 1, 0, T0 + 5],
    ["completed", "1", 1, null, null, 1, 0, T0 + 5],
    ["completed", "2", 1, null, null, 1, 0, T0 + 5],
    ["failed", null, 0, null, null, 1, 0, T0 + 5],
    ["completed", "1", 0, null, null, 2, 0, T0 + 5],
    ["completed", "1", 0, null, null, 1, 3, T0 + 5],
  ]);
});

it("a run that has ended in the same commit gets no record, even if it is not cached", () => {
  connection.write(() => {
    end("r0");
    expect(connection.tables.journal.appendGuarded("r0", 1, [record(1)])).toBe(false);
    end("r1");
    cacheOf(connection.database).forget();
    expect(connection.tables.journal.appendGuarded("r1", 1, [record(1)])).toBe(false);
  });
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InboxEntry } from "../../model/inbox.ts";
import { Batch } from "../../rules/batch.ts";
import type { RunHead } from "../../rules/tables.ts";
import { newRun, T0 } from "../../testing/store-contract/builders.ts";
import { Connection } from "./connection.ts";
import { findDriver } from "./driver.ts";
import { cacheOf } from "./head-cache.ts";
import type { SqliteTables } from "./sqlite-tables.ts";

let connection: Connection;

beforeEach(async () => {
  const Driver = await findDriver();
  connection = new Connection(new Driver(":memory:"), "FULL", 1_000_000);
});

afterEach(() => connection.database.close());

/** Runs `work` in a separate transaction, with the head of an existing run. */
function write<Result>(work: (tables: SqliteTables, head: RunHead) => Result): Result {
  const { tables } = connection;
  return connection.write(() => {
    new Batch(tables, T0).create(newRun("run"));
    const head = tables.runs.head("run");
    if (head === null) throw new Error("the run is not there");
    return work(tables, head);
  });
}

function entry(n: number, over: Partial<InboxEntry> = {}): InboxEntry {
  const id = over.id ?? `message-${n}`;
  return {
    n,
    kind: "message",
    id,
    name: "go",
    value: "1",
    status: null,
    at: T0,
    onTargetTerminated: "discard",
    ...over,
  };
}

const numbers = (entries: readonly InboxEntry[]): readonly number[] => entries.map(({ n }) => n);

describe("an inbox entry of the same transaction", () => {
  it("an entry added in the same transaction is refused a second time", () => {
    write(({ inbox }, head) => {
      expect(inbox.add(head, entry(1, { id: "a" }))).toBe(true);
      expect(inbox.add(head, entry(2, { id: "a" }))).toBe(false);
      expect(numbers(inbox.open(head))).toEqual([1]);
    });
    expect(numbers(connection.read(() => connection.tables.inbox.open({ id: "run", key: 1 })))).toEqual([1]);
  });

  it("an entry added in the same transaction is known by its id", () => {
    write(({ inbox }, head) => {
      inbox.add(head, entry(1, { id: "a" }));
      expect(inbox.knows(head, "message", "a")).toBe(true);
      expect(inbox.knows(head, "message", "b")).toBe(false);
    });
  });

  it("an entry added in the same transaction can be taken", () => {
    write(({ inbox }, head) => {
      for (let n = 1; n <= 40; n += 1) inbox.add(head, entry(n));
      for (let n = 1; n <= 39; n += 1) inbox.take(head, n);
      expect(numbers(inbox.open(head))).toEqual([40]);
      inbox.take(head, 40);
      inbox.take(head, 40);
    });
    expect(write(({ inbox }, head) => inbox.open(head))).toEqual([]);
    expect(connection.read(() => connection.tables.inbox.open({ id: "run", key: 1 }))).toEqual([]);
  });

  it("the only entry, added in the same transaction, can be taken", () => {
    write(({ inbox }, head) => {
      inbox.add(head, entry(1));
      inbox.take(head, 1);
    });
    expect(connection.read(() => connection.tables.inbox.open({ id: "run", key: 1 }))).toEqual([]);
  });

  it("takeAll removes an entry added in the same transaction", () => {
    write(({ inbox }, head) => {
      inbox.add(head, entry(1));
      inbox.takeAll(head);
    });
    expect(connection.read(() => connection.tables.inbox.open({ id: "run", key: 1 }))).toEqual([]);
  });

  it("an entry is gone after its transaction is rolled back", () => {
    write(() => undefined);
    expect(() =>
      write(({ inbox }, head) => {
        inbox.add(head, entry(1));
        throw new Error("it fails");
      }),
    ).toThrow("it fails");
    write(({ inbox }, head) => expect(inbox.open(head)).toEqual([]));
    expect(connection.read(() => connection.tables.inbox.open({ id: "run", key: 1 }))).toEqual([]);
  });

  it("an entry added in the same transaction keeps its event from being pruned", () => {
    write(({ inbox, events }, head) => {
      const event = { topic: "t", value: "1", at: T0, expireAt: T0 + 1, deliver: "all", consume: "one" } as const;
      events.insert({ ...event, id: "e", pendingMax: 1, pending: false, received: true, holder: "run" });
      inbox.add(head, entry(1, { kind: "event", id: "event:e" }));
      expect(events.removeBefore(T0 + 1, 10)).toBe(0);
      inbox.take(head, 1);
      expect(events.removeBefore(T0 + 1, 10)).toBe(1);
    });
  });
});

describe("the first inbox entry of a run", () => {
  const again = (n: number): InboxEntry => entry(n, { id: "a" });
  /** Runs `work` in a separate transaction, after the cache was cleared. */
  const uncached = <Result>(work: (tables: SqliteTables, head: RunHead) => Result): Result => {
    cacheOf(connection.database).forget();
    return write(work);
  };

  it("the first entry is refused a second time, both before and after it was taken", () => {
    write(({ inbox }, head) => inbox.add(head, again(1)));
    uncached(({ inbox }, head) => {
      expect(inbox.add(head, again(2))).toBe(false);
      expect(inbox.knows(head, "message", "a")).toBe(true);
      inbox.take(head, 1);
      expect(inbox.add(head, again(2))).toBe(false);
      expect(inbox.knows(head, "message", "a")).toBe(true);
      expect(inbox.add(head, entry(2, { id: "b" }))).toBe(true);
    });
    expect(uncached(({ inbox }, head) => inbox.add(head, again(3)))).toBe(false);
    expect(uncached(({ inbox }, head) => numbers(inbox.open(head)))).toEqual([2]);
  });

  it("the first entry is known at once if the commit that adds it takes it", () => {
    write(({ inbox }, head) => {
      inbox.add(head, again(1));
      inbox.take(head, 1);
      expect(inbox.knows(head, "message", "a")).toBe(true);
    });
  });

  it("the first entry is refused a second time in the commit that took it", () => {
    write(({ inbox }, head) => {
      inbox.add(head, again(1));
      inbox.take(head, 1);
      expect(inbox.add(head, again(2))).toBe(false);
    });
  });

  it("the first entry is known after takeAll", () => {
    write(({ inbox }, head) => inbox.add(head, again(1)));
    uncached(({ inbox }, head) => inbox.takeAll(head));
    expect(uncached(({ inbox }, head) => inbox.knows(head, "message", "a"))).toBe(true);
  });

  it("the first entry can be restored only after it was taken", () => {
    write(({ inbox }, head) => inbox.add(head, again(1)));
    uncached(({ inbox }, head) => {
      expect(inbox.restore(head, again(2))).toBe(false);
      inbox.take(head, 1);
      expect(inbox.restore(head, again(2))).toBe(true);
      expect(inbox.restore(head, again(3))).toBe(false);
    });
    expect(uncached(({ inbox }, head) => numbers(inbox.open(head)))).toEqual([2]);
  });

  it("the first entry can be taken if its id is recorded already", () => {
    write(({ inbox }, head) => inbox.add(head, again(1)));
    connection.database.exec(
      "INSERT INTO pawl_inbox_ids (run, kind, id, n, at) SELECT run, kind, id, n, at FROM pawl_inbox",
    );
    uncached(({ inbox }, head) => {
      expect(inbox.add(head, again(2))).toBe(false);
      inbox.take(head, 1);
      expect(inbox.knows(head, "message", "a")).toBe(true);
      expect(inbox.open(head)).toEqual([]);
    });
  });

  it("the first entry is forgotten when it was taken and has expired", () => {
    write(({ inbox }, head) => inbox.add(head, again(1)));
    expect(uncached(({ inbox }) => inbox.forgetBefore(T0 + 1, 10))).toBe(0);
    uncached(({ inbox }, head) => inbox.take(head, 1));
    expect(uncached(({ inbox }) => inbox.forgetBefore(T0 + 1, 10))).toBe(1);
    expect(uncached(({ inbox }, head) => inbox.knows(head, "message", "a"))).toBe(false);
  });
});

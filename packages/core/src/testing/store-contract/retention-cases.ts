import { append, completed, create, document, event, message, record, suspended, T0 } from "./builders.ts";
import type { Case } from "./trial.ts";

const ALL = { runsEndedBefore: T0 + 1_000_000, receivedBefore: null, limit: 100 };

export const retentionCases: readonly Case[] = [
  {
    name: "pruning deletes a run with its journal, inbox and documents",
    run: async (t) => {
      await t.owned("r");
      await t.sendUnawaited("r", "m");
      const put = document("task", "t1", { runId: "r" });
      await t.applied(append("r", { records: [record(1)], taken: [1], documents: [{ put }] }));
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.store.prune({ ...ALL, runsEndedBefore: T0 })).toMatchObject({ runs: 0 });
      t.expect(await t.store.prune({ ...ALL, runsEndedBefore: T0 + 1 })).toEqual({
        runs: 1,
        entries: 0,
        expired: 0,
        letters: 0,
        done: true,
      });
      t.expect([await t.store.load("r"), await t.store.reader.get("r"), await t.seqs("r"), await t.inbox("r")]).toEqual(
        [null, null, [], []],
      );
      t.expect(await t.store.reader.document("task", "t1")).toBe(null);
      t.expect(await t.posted(message("r", "m2"))).toEqual({ kind: "targetNotFound" });
      await t.applied(create("r", { owner: "w", startId: "second" }), append("r", { records: [record(1)] }));
      t.expect(await t.seqs("r")).toEqual([1]);
    },
  },
  {
    name: "a pruned run appears in no list and no count",
    run: async (t) => {
      await t.applied(create("r", { owner: "w", workflow: "gone", tags: ["x"] }), append("r", { state: completed() }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 1 });
      for (const query of [{}, { workflow: "gone" }, { tag: "x" }, { status: ["completed"] as const }]) {
        t.expect(await t.store.reader.count(query)).toBe(0);
        t.expect(await t.store.reader.list({ ...query, limit: 5 })).toEqual({ items: [], cursor: null });
      }
      await t.applied(create("r", { startId: "second" }));
      t.expect(await t.store.reader.count({ tag: "x" })).toBe(0);
    },
  },
  {
    name: "a new run with the id of a pruned run receives events that the pruned run received",
    run: async (t) => {
      await t.posted(event("t", "e", { consume: "all" }));
      for (const startId of ["first", "second"]) {
        await t.waiting("r", { topics: ["t"] }, { startId });
        t.expect(await t.inboxIds("r")).toEqual(["event:e"]);
        await t.applied(append("r", { turn: 2, taken: [1], state: completed() }));
        t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 1 });
      }
    },
  },
  {
    name: "pruning keeps runs that are not terminal, however old",
    run: async (t) => {
      await t.applied(create("pending"));
      await t.owned("running", "paused");
      await t.waiting("suspended", {});
      await t.applied(append("paused", { state: { status: "paused", reason: null } }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 0, done: true });
      t.expect(await t.store.reader.count({})).toBe(4);
    },
  },
  {
    name: "pruning keeps the ended children of an open parent and the ended parents of an open child",
    run: async (t) => {
      const child = (id: string, runId: string) =>
        create(id, { owner: "w", parent: { runId, location: id, onClose: "abandon" } });
      await t.owned("open", "ended");
      await t.applied(child("a", "open"), child("b", "ended"), child("c", "b"));
      for (const id of ["a", "ended", "b"]) await t.applied(append(id, { state: completed() }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 0, done: true });
      await t.applied(append("c", { state: completed() }), append("open", { state: completed() }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 5, done: true });
    },
  },
  {
    name: "pruning keeps all descendants of an open run, except those of an earlier generation",
    run: async (t) => {
      const below = (id: string, runId: string) =>
        create(id, { owner: "w", createdAt: t.world.now(), parent: { runId, location: id, onClose: "cancel" } });
      await t.owned("open");
      await t.applied(below("a", "open"), below("b", "a"), below("c", "b"));
      for (const id of ["c", "b", "a"]) await t.applied(append(id, { state: completed() }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 0 });
      t.world.advance(1);
      const fresh = { workflow: "order", version: 1, input: null, baseSeq: 0, at: T0 + 1 };
      await t.applied(append("open", { state: { status: "continued", ...fresh } }));
      await t.applied(below("d", "open"));
      await t.applied(append("d", { state: completed() }));
      t.expect(await t.store.prune(ALL)).toMatchObject({ runs: 3, done: true });
      t.expect(await t.store.reader.count({})).toBe(2);
      t.expect((await t.run("d")).status).toBe("completed");
    },
  },
  {
    name: "pruning of one run deletes that run only, unless it is open, has a child, or is below an open run",
    run: async (t) => {
      const one = async (runId: string, more: object = {}): Promise<number> =>
        (await t.store.prune({ ...ALL, receivedBefore: null, runId, ...more })).runs;
      const below = (id: string, runId: string) =>
        create(id, { owner: "w", parent: { runId, location: id, onClose: "abandon" } });
      await t.owned("open", "parent");
      await t.completed("other");
      await t.applied(below("child", "parent"), below("held", "open"));
      for (const id of ["parent", "child", "held"]) await t.applied(append(id, { state: completed() }));
      t.expect(await one("missing")).toBe(0);
      t.expect(await one("open")).toBe(0);
      t.expect(await one("held")).toBe(0);
      t.expect(await one("parent")).toBe(0);
      t.expect(await one("child", { statuses: ["failed"] })).toBe(0);
      t.expect(await one("child", { runsEndedBefore: T0 - 1 })).toBe(0);
      t.expect(await one("child")).toBe(1);
      t.expect(await one("child")).toBe(0);
      t.expect(await one("parent")).toBe(1);
      t.expect(await t.store.load("parent")).toBe(null);
      t.expect((await t.run("other")).status).toBe("completed");
      t.expect((await t.run("held")).status).toBe("completed");
    },
  },
  {
    name: "pruning deletes dead letters older than lettersBefore, oldest first, at most `limit` per call",
    run: async (t) => {
      for (const id of ["a", "b", "c", "d"]) {
        await t.posted(message("missing", id, { from: "r" }));
        t.world.advance(1);
      }
      const base = { runsEndedBefore: null, receivedBefore: null };
      const ids = async () => (await t.store.reader.deadLetters({ limit: 10 })).items.map(({ id }) => id);
      t.expect(await t.store.prune({ ...base, limit: 10 })).toMatchObject({ letters: 0, done: true });
      t.expect(await t.store.prune({ ...base, lettersBefore: T0, limit: 10 })).toMatchObject({ letters: 0 });
      t.expect(await t.store.prune({ ...base, lettersBefore: T0 + 3, limit: 2 })).toMatchObject({
        letters: 2,
        done: false,
      });
      t.expect(await ids()).toEqual(["missing//d", "missing//c"]);
      t.expect(await t.store.prune({ ...base, lettersBefore: T0 + 3, limit: 2 })).toMatchObject({
        letters: 1,
        done: true,
      });
      t.expect(await ids()).toEqual(["missing//d"]);
      t.expect(await t.store.prune({ ...base, lettersBefore: null, limit: 2 })).toMatchObject({ letters: 0 });
    },
  },
  {
    name: "pruning deletes at most `limit` runs per call and returns whether it is done",
    run: async (t) => {
      for (const id of ["a", "b", "c"]) await t.completed(id);
      t.expect(await t.store.prune({ ...ALL, limit: 2 })).toMatchObject({ runs: 2, done: false });
      t.expect(await t.store.prune({ ...ALL, limit: 2 })).toMatchObject({ runs: 1, done: true });
    },
  },
  {
    name: "pruning deletes only runs of the requested statuses",
    run: async (t) => {
      await t.completed("a");
      await t.owned("b");
      await t.applied(append("b", { state: { status: "failed", outcome: null, at: T0 } }));
      t.expect(await t.store.prune({ ...ALL, statuses: ["completed", "running"] })).toMatchObject({ runs: 1 });
      t.expect((await t.run("b")).status).toBe("failed");
    },
  },
  {
    name: "pruning deletes received inbox entries and keeps unreceived ones",
    run: async (t) => {
      await t.owned("r");
      for (const id of ["m1", "m2"]) await t.sendUnawaited("r", id);
      await t.applied(append("r", { records: [record(1)], taken: [1] }));
      const forget = { runsEndedBefore: null, limit: 10 };
      t.expect(await t.store.prune({ ...forget, receivedBefore: T0 })).toMatchObject({ entries: 0 });
      t.expect(await t.posted(message("r", "m1"))).toEqual({ kind: "duplicate" });
      t.expect(await t.store.prune({ ...forget, receivedBefore: T0 + 1 })).toMatchObject({ entries: 1, done: true });
      t.expect(await t.posted(message("r", "m2"))).toEqual({ kind: "duplicate" });
      t.expect(await t.posted(message("r", "m1"))).toEqual({ kind: "queued" });
      t.expect((await t.inbox("r")).map(({ n, id }) => [n, id])).toEqual([
        [2, "m2"],
        [3, "m1"],
      ]);
    },
  },
  {
    name: "pruning deletes received events and keeps pending events and events in an inbox",
    run: async (t) => {
      await t.waiting("a", { topics: ["t"] });
      await t.posted(event("t", "held"));
      await t.waiting("b", { topics: ["t"] });
      await t.posted(event("t", "taken"));
      await t.applied(append("b", { turn: 2, taken: [1], state: suspended({}, 1) }));
      await t.posted(event("t", "pending"));
      const pruned = await t.store.prune({ runsEndedBefore: null, receivedBefore: T0 + 1, limit: 10 });
      t.expect(pruned).toEqual({ runs: 0, entries: 2, expired: 0, letters: 0, done: true });
      t.expect(await t.posted(event("t", "held"))).toEqual({ kind: "duplicate" });
      t.expect(await t.posted(event("t", "pending"))).toEqual({ kind: "duplicate" });
      await t.applied(append("a", { turn: 2, state: completed() }));
      await t.waiting("c", { topics: ["t"] });
      t.expect(await t.inboxIds("c")).toEqual(["event:held"]);
    },
  },
];

import type { Transition } from "../../model/transition.ts";
import { append, completed, document, event, message, post, records, T0 } from "./builders.ts";
import type { Case } from "./trial.ts";

const letter = (letterId: string, replayed: Extract<Transition, { kind: "letter" }>["post"]): Transition => ({
  kind: "letter",
  letterId,
  post: replayed,
});

export const letterCases: readonly Case[] = [
  {
    name: "a dead letter is read by id, listed and removed",
    run: async (t) => {
      await t.applied(post(message("none", "m", { from: "x", name: "pay" })));
      const shown = {
        id: "none//m",
        kind: "message",
        target: "none",
        name: "pay",
        value: '"m"',
        reason: "targetNotFound",
        status: null,
        sentAt: T0,
        deadAt: T0,
      };
      t.expect(await t.store.reader.deadLetter("none//m")).toEqual(shown);
      t.expect(await t.store.reader.deadLetters({ limit: 5 })).toEqual({ items: [shown], cursor: null });
      await t.applied(letter("none//m", null));
      t.expect(await t.store.reader.deadLetter("none//m")).toBe(null);
      t.expect(await t.answer(letter("none//m", null))).toEqual({ kind: "refused", reason: "notFound" });
    },
  },
  {
    name: "a replayed dead letter wakes the run that waits for its message",
    run: async (t) => {
      await t.applied(post(message("r", "m", { from: "x" })));
      await t.waiting("r", { messages: ["approve"] });
      const { answers, wakes } = await t.commit(letter("r//m", message("r", "m")));
      t.expect(answers).toEqual([{ kind: "applied", post: { kind: "delivered", runs: 1 }, again: false }]);
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect(await t.letterReasons()).toEqual([]);
    },
  },
  {
    name: "a replayed event is delivered to a waiter, under its old id or a new one",
    run: async (t) => {
      for (const id of ["e1", "e2"]) await t.applied(post(event("t", id, { pendingMax: 0 })));
      await t.waiting("a", { topics: ["t"] });
      await t.waiting("b", { topics: ["t"] });
      const { answers } = await t.commit(letter("e1", event("t", "e1")), letter("e2", event("t", "e2-again")));
      t.expect(answers.map((answer) => (answer.kind === "applied" ? answer.post : null))).toEqual([
        { kind: "delivered", runs: 1 },
        { kind: "delivered", runs: 1 },
      ]);
      t.expect([await t.inboxIds("a"), await t.inboxIds("b")]).toEqual([["event:e1"], ["event:e2-again"]]);
    },
  },
  {
    name: "a replayed message becomes a dead letter again if its target has ended",
    run: async (t) => {
      await t.completed("r");
      const undeliverable = message("r", "m", { onTargetTerminated: "deadLetter" });
      await t.applied(post(undeliverable));
      t.world.advance(5);
      await t.applied(letter("r//m", undeliverable));
      t.expect(await t.store.reader.deadLetter("r//m")).toMatchObject({ reason: "targetTerminated", deadAt: T0 + 5 });
    },
  },
  {
    name: "messages with one id to different runs and an event with that id are separate dead letters",
    run: async (t) => {
      const ids: [string, string][] = [
        ["a/b", "c"],
        ["a", "b/c"],
        ["a//b", "c"],
        ["a", "b//c"],
        ["a%2Fb", "c"],
        ["a", "c"],
      ];
      await t.applied(...ids.map(([to, id]) => post(message(to, id, { from: "x" }))));
      for (const id of ["c", "a//c"]) await t.applied(post(event("t", id, { pendingMax: 0 })));
      const { items } = await t.store.reader.deadLetters({ limit: 20 });
      t.expect(new Set(items.map((item) => item.id)).size).toBe(8);
    },
  },
];

export const documentCases: readonly Case[] = [
  {
    name: "documents are created, replaced, removed and found by kind, id and attributes",
    run: async (t) => {
      const tasks = ["t1", "t2", "t3"].map((id, index) =>
        document("task", id, { runId: "r", attributes: { a: index < 2 ? "ann" : "bob", d: String(index) } }),
      );
      await t.applied({
        kind: "documents",
        documents: [...tasks.map((put) => ({ put })), { put: document("note", "t1") }],
      });
      const find = async (where: object) =>
        (await t.store.reader.documents({ kind: "task", where, limit: 10 })).items.map(({ id }) => id);
      t.expect(await t.store.reader.document("task", "t2")).toEqual(tasks[1]);
      t.expect(await find({})).toEqual(["t1", "t2", "t3"]);
      t.expect([await find({ a: "ann" }), await find({ a: "ann", d: "1" }), await find({ b: "x" })]).toEqual([
        ["t1", "t2"],
        ["t2"],
        [],
      ]);
      const put = document("task", "t1", { body: null, attributes: { a: "bob" } });
      await t.applied({ kind: "documents", documents: [{ put }, { remove: { kind: "task", id: "t2" } }] });
      t.expect(await t.store.reader.document("task", "t1")).toEqual(put);
      t.expect([await find({ a: "ann" }), await find({ a: "bob" })]).toEqual([[], ["t1", "t3"]]);
    },
  },
  {
    name: "documents of an append are written only if the append is applied",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { documents: [{ put: document("task", "t1", { runId: "r" }) }] }));
      await t.applied(append("r", { state: completed() }));
      const refused = await t.answer(append("r", { documents: [{ remove: { kind: "task", id: "t1" } }] }));
      t.expect(refused).toEqual({ kind: "refused", reason: "terminal", status: "completed" });
      t.expect(await t.store.reader.document("task", "t1")).toMatchObject({ runId: "r" });
    },
  },
  {
    name: "a run is loaded with its newest snapshot and the records after it",
    run: async (t) => {
      await t.owned("r");
      const put = document("snapshot", "r", { runId: "r", body: "{}", attributes: { a: "2" } });
      await t.applied(append("r", { records: records(1, 3), documents: [{ put }] }));
      t.expect(await t.store.load("r")).toMatchObject({ snapshot: put, records: [{ seq: 3 }] });
      t.expect(await t.loadedSeqs("r", 1)).toEqual([2, 3]);
      t.expect(await t.store.load("none")).toBe(null);
    },
  },
];

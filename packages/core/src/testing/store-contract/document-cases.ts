import type { DocumentAttributes, StoredDocument, Transition } from "../../model/transition.ts";
import { append, completed, control, create, document, message, records, T0 } from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

const task = (id: string, over: Partial<StoredDocument> = {}): StoredDocument =>
  document("task", id, { runId: "r", attributes: { d: "open" }, ...over });

const revise = (
  seen: StoredDocument | null,
  changed: StoredDocument,
  post: Extract<Transition, { kind: "revise" }>["post"] = null,
): Transition => ({ kind: "revise", seen, document: changed, post });

const cancelled = (at: number) => ({ status: "cancelled", outcome: null, at }) as const;

const states = async (t: Trial): Promise<readonly (string | undefined)[]> =>
  (await t.store.reader.documents({ kind: "task", limit: 10 })).items.map(({ attributes }) => attributes.d);

/** Documents of a run that the run and other callers change at the same time. */
export const openDocumentCases: readonly Case[] = [
  {
    name: "a second create of a document leaves the existing document unchanged",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { documents: [{ create: task("t1", { body: "1" }) }] }));
      await t.applied(append("r", { documents: [{ create: task("t1", { body: "2" }) }, { create: task("t2") }] }));
      t.expect(await t.store.reader.document("task", "t1")).toEqual(task("t1", { body: "1" }));
      t.expect(await states(t)).toEqual(["open", "open"]);
    },
  },
  {
    name: "a mark sets the given attributes of a document and keeps the rest; a mark of a missing document does nothing",
    run: async (t) => {
      await t.owned("r");
      const attributes: DocumentAttributes = { a: "ann", b: "x", d: "open" };
      await t.applied(append("r", { documents: [{ create: task("t1", { body: "1", attributes }) }] }));
      const mark = (id: string, marks: DocumentAttributes) => ({ mark: { kind: "task", id, attributes: marks } });
      await t.applied(append("r", { documents: [mark("t1", { b: "y", d: "done" }), mark("none", { d: "done" })] }));
      const found = await t.store.reader.document("task", "t1");
      t.expect(found).toEqual(task("t1", { body: "1", attributes: { a: "ann", b: "y", d: "done" } }));
      const by = async (where: DocumentAttributes) =>
        (await t.store.reader.documents({ kind: "task", where, limit: 10 })).items.map(({ id }) => id);
      t.expect([await by({ d: "done" }), await by({ d: "open" }), await by({ b: "y", a: "ann" })]).toEqual([
        ["t1"],
        [],
        ["t1"],
      ]);
    },
  },
  {
    name: "a document that is created and marked in one transition has the marked attributes",
    run: async (t) => {
      await t.owned("r");
      const mark = { mark: { kind: "task", id: "t1", attributes: { d: "done" } } };
      await t.applied(append("r", { documents: [{ create: task("t1", { body: "1" }) }, mark] }));
      await t.applied(append("r", { documents: [{ create: task("t1", { body: "2" }) }] }));
      t.expect(await t.store.reader.document("task", "t1")).toEqual(
        task("t1", { body: "1", attributes: { d: "done" } }),
      );
    },
  },
  {
    name: "only one of two revisions of the same read document is applied",
    run: async (t) => {
      await t.owned("r");
      const read = task("t1", { body: "1" });
      await t.applied(append("r", { documents: [{ create: read }] }));
      const [first, second] = [task("t1", { body: "ann" }), task("t1", { body: "bob" })];
      const { answers } = await t.commit(revise(read, first), revise(read, second));
      t.expect(answers).toEqual([
        { kind: "applied", post: null, again: false },
        { kind: "refused", reason: "changed" },
      ]);
      t.expect(await t.answer(revise(read, second))).toEqual({ kind: "refused", reason: "changed" });
      t.expect(await t.store.reader.document("task", "t1")).toEqual(first);
    },
  },
  {
    name: "a revision from null creates a document only if none exists",
    run: async (t) => {
      const [first, second] = [document("model", "m", { body: "1" }), document("model", "m", { body: "2" })];
      await t.applied(revise(null, first));
      t.expect(await t.answer(revise(null, second))).toEqual({ kind: "refused", reason: "changed" });
      t.expect(await t.answer(revise(document("model", "none"), document("model", "none", { body: "x" })))).toEqual({
        kind: "refused",
        reason: "changed",
      });
      t.expect(await t.store.reader.document("model", "m")).toEqual(first);
    },
  },
  {
    name: "a resent revision gets the same answer, and its message is delivered once",
    run: async (t) => {
      await t.owned("r");
      const read = task("t1", { body: "1" });
      await t.applied(append("r", { documents: [{ create: read }] }));
      const change = revise(read, task("t1", { body: "2" }), message("r", "m"));
      await t.applied(change);
      t.expect(await t.answer(change)).toEqual({ kind: "applied", post: null, again: true });
      t.expect(await t.inboxIds("r")).toEqual(["m"]);
    },
  },
  {
    name: "a revision wakes the run that waits for its message, in the same commit",
    run: async (t) => {
      await t.waiting("r", { messages: ["approve"] });
      const { wakes } = await t.commit(revise(null, task("t1"), message("r", "m")));
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
    },
  },
  {
    name: "a revision whose message cannot be delivered changes nothing",
    run: async (t) => {
      await t.completed("r");
      const change = (to: string) => revise(null, task("t1", { runId: to }), message(to, "m"));
      t.expect(await t.answer(change("r"))).toEqual({ kind: "refused", reason: "terminal", status: "completed" });
      t.expect(await t.answer(change("none"))).toEqual({ kind: "refused", reason: "notFound" });
      t.expect(await t.store.reader.document("task", "t1")).toBe(null);
    },
  },
  {
    name: "open documents of a run are cancelled when the run is cancelled, fails or is rewound",
    run: async (t) => {
      const ends: readonly Transition[] = [
        control("r", { state: cancelled(T0) }),
        append("r", { turn: 1, state: { status: "failed", outcome: null, at: T0 } }),
        control("r", {
          state: { status: "reopened", at: T0, version: null, undo: "none" },
          journal: { seen: null, cutAfter: 0, add: [], restore: [] },
        }),
      ];
      for (const [index, end] of ends.entries()) {
        const runId = `r${index}`;
        await t.applied(create(runId, { owner: "w" }));
        const of = (id: string, d: string) => ({
          create: document("task", `${runId} ${id}`, { runId, attributes: { a: "x", d } }),
        });
        await t.applied(append(runId, { records: records(1, 1), documents: [of("1", "open"), of("2", "done")] }));
        await t.applied({ ...end, runId } as Transition);
        const found = await t.store.reader.documents({ kind: "task", where: { a: "x" }, limit: 10 });
        const mine = found.items.filter((each) => each.runId === runId);
        t.expect(mine.map(({ attributes }) => attributes.d)).toEqual(["cancelled", "done"]);
      }
      const open = await t.store.reader.documents({ kind: "task", where: { d: "open" }, limit: 10 });
      t.expect(open.items).toEqual([]);
    },
  },
  {
    name: "a completion or a refused transition leaves open documents unchanged",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { documents: [{ create: task("t1") }] }));
      t.expect(await t.answer(control("r", { epoch: 9, state: cancelled(T0) }))).toMatchObject({ reason: "fenced" });
      await t.applied(append("r", { turn: 1, state: completed() }));
      t.expect(await states(t)).toEqual(["open"]);
    },
  },
];

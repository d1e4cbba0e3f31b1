import { PawlError } from "../../model/errors.ts";
import type { Page } from "../../store/store.ts";
import {
  append,
  completed,
  create,
  document,
  event,
  message,
  post,
  record,
  records,
  suspended,
  T0,
} from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

/** Reads all pages, calling `between` after each. */
async function readAll<Item>(
  next: (cursor: string | undefined) => Promise<Page<Item>>,
  between: (page: number) => Promise<void> = async () => undefined,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  let cursor: string | undefined;
  do {
    const page = await next(cursor);
    pages.push([...page.items]);
    await between(pages.length);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined && pages.length < 100);
  return pages;
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "no error";
  } catch (error) {
    return error instanceof PawlError ? error.code : String(error);
  }
}

/** A hint may be late: the maximum number of reads before the case fails. */
const HINT_ROUNDS = 1_000;

const letters = (count: number) =>
  Array.from({ length: count }, (_, index) => post(message("none", `m${index}`, { from: "x" })));

async function ids(t: Trial, query: object): Promise<string[]> {
  return (await t.store.reader.list({ limit: 100, ...query })).items.map((run) => run.id);
}

export const readingCases: readonly Case[] = [
  {
    name: "runs are listed newest first, by creation time and then by id",
    run: async (t) => {
      await t.applied(create("b"), create("c", { createdAt: T0 - 1 }), create("a"), create("d", { createdAt: T0 + 1 }));
      t.expect(await ids(t, {})).toEqual(["d", "b", "a", "c"]);
      t.expect((await t.store.reader.list({ limit: 4 })).cursor).toBe(null);
    },
  },
  {
    name: "runs created while a list is read page by page appear on no later page, and no run is skipped or repeated",
    run: async (t) => {
      await t.applied(...Array.from({ length: 10 }, (_, n) => create(`r${n}`, { createdAt: T0 + (n >> 1) })));
      const pages = await readAll(
        (cursor) => t.store.reader.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) }),
        async (page) => void (await t.applied(create(`new${page}`, { createdAt: T0 + 100 }))),
      );
      t.expect(pages.map((page) => page.map((run) => run.id))).toEqual([
        ["r9", "r8", "r7"],
        ["r6", "r5", "r4"],
        ["r3", "r2", "r1"],
        ["r0"],
      ]);
    },
  },
  {
    name: "runs are listed and counted by status, workflow, tag and creation time",
    run: async (t) => {
      await t.applied(
        create("a", { tags: ["x", "y"], owner: "w" }),
        create("b", { tags: ["y"], workflow: "other", createdAt: T0 + 10 }),
      );
      await t.applied(
        create("c", { tags: ["x"], owner: "w", createdAt: T0 + 20 }),
        append("c", { state: completed() }),
      );
      const queries: [object, string[]][] = [
        [{ status: ["completed"] }, ["c"]],
        [{ status: ["pending", "running"] }, ["b", "a"]],
        [{ status: [] }, []],
        [{ workflow: "order" }, ["c", "a"]],
        [{ tag: "y" }, ["b", "a"]],
        [{ tag: "x", status: ["running"] }, ["a"]],
        [{ tag: "x", workflow: "other" }, []],
        [{ createdAfter: T0 }, ["c", "b"]],
        [{ createdBefore: T0 + 20 }, ["b", "a"]],
        [{ createdAfter: T0, createdBefore: T0 + 20, workflow: "other" }, ["b"]],
      ];
      for (const [query, expected] of queries) {
        t.expect(await ids(t, query)).toEqual(expected);
        t.expect(await t.store.reader.count(query)).toBe(expected.length);
        const pages = await readAll((cursor) =>
          t.store.reader.list({ limit: 1, ...query, ...(cursor ? { cursor } : {}) }),
        );
        t.expect(pages.flat().map((run) => run.id)).toEqual(expected);
      }
    },
  },
  {
    name: "a journal of 10,000 records is read and loaded in parts",
    run: async (t) => {
      await t.owned("r", "other");
      for (let first = 1; first <= 10_000; first += 1000) {
        await t.applied(
          append("r", { records: records(first, first + 999) }),
          append("other", { records: [record(1 + (first - 1) / 1000)] }),
        );
      }
      const part = await t.store.reader.journal("r", { afterSeq: 4000, limit: 3 });
      t.expect(part.map(({ seq }) => seq)).toEqual([4001, 4002, 4003]);
      t.expect(await t.loadedSeqs("r", 9998)).toEqual([9999, 10_000]);
      t.expect((await t.store.load("r"))?.records.length).toBe(10_000);
      t.expect(await t.store.reader.journal("none", { afterSeq: 0, limit: 3 })).toEqual([]);
    },
  },
  {
    name: "the last records of a journal are read newest first",
    run: async (t) => {
      await t.owned("r", "empty");
      await t.applied(append("r", { records: records(1, 5) }));
      const last = async (afterSeq: number, limit: number) =>
        (await t.store.reader.journal("r", { afterSeq, limit, newestFirst: true })).map(({ seq }) => seq);
      t.expect(await last(0, 2)).toEqual([5, 4]);
      t.expect(await last(3, 10)).toEqual([5, 4]);
      t.expect(await last(0, 10)).toEqual([5, 4, 3, 2, 1]);
      t.expect(await last(5, 10)).toEqual([]);
      t.expect(await t.store.reader.journal("empty", { afterSeq: 0, limit: 1, newestFirst: true })).toEqual([]);
      t.expect(await t.store.reader.journal("none", { afterSeq: 0, limit: 1, newestFirst: true })).toEqual([]);
    },
  },
  {
    name: "the children of a run are listed in pages",
    run: async (t) => {
      await t.applied(create("p"), create("q"));
      const parent = { runId: "p", location: "c", onClose: "cancel" } as const;
      await t.applied(
        ...["a", "b", "c"].map((id) => create(id, { parent })),
        create("d", { parent: { ...parent, runId: "q" } }),
      );
      const pages = await readAll((cursor) =>
        t.store.reader.children("p", { limit: 2, ...(cursor ? { cursor } : {}) }),
      );
      t.expect(pages.map((page) => page.map((run) => run.id))).toEqual([["c", "b"], ["a"]]);
      t.expect(pages[0]?.[0]?.parent).toEqual(parent);
      t.expect(await t.store.reader.children("none", { limit: 2 })).toEqual({ items: [], cursor: null });
    },
  },
  {
    name: "dead letters are listed newest first, and letters added or removed meanwhile do not affect later pages",
    run: async (t) => {
      await t.applied(...letters(7));
      const pages = await readAll(
        (cursor) => t.store.reader.deadLetters({ limit: 3, ...(cursor ? { cursor } : {}) }),
        async (page) =>
          void (await t.applied(post(event("t", `late${page}`, { pendingMax: 0 })), {
            kind: "letter",
            letterId: `none//m${4 - page}`,
            post: null,
          })),
      );
      t.expect(pages.map((page) => page.map((letter) => letter.id))).toEqual([
        ["none//m6", "none//m5", "none//m4"],
        ["none//m2", "none//m1", "none//m0"],
      ]);
    },
  },
  {
    name: "documents are listed by id in pages, and documents added meanwhile repeat no document",
    run: async (t) => {
      const put = (id: string) => ({ put: document("k", id, { attributes: { a: "x" } }) });
      await t.applied({ kind: "documents", documents: ["b", "d", "f", "h"].map(put) });
      const pages = await readAll(
        (cursor) => t.store.reader.documents({ kind: "k", where: { a: "x" }, limit: 2, ...(cursor ? { cursor } : {}) }),
        async (page) => void (page === 1 && (await t.applied({ kind: "documents", documents: ["a", "e"].map(put) }))),
      );
      t.expect(pages.map((page) => page.map(({ id }) => id))).toEqual([["b", "d"], ["e", "f"], ["h"]]);
    },
  },
  {
    name: "a cursor of another list is rejected with CURSOR_INVALID",
    run: async (t) => {
      await t.applied(create("a"), create("b"), ...letters(2));
      const { reader } = t.store;
      const { cursor } = await reader.list({ limit: 1 });
      const foreign = (await reader.deadLetters({ limit: 1 })).cursor;
      if (cursor === null || foreign === null) throw new Error("the list has only one page");
      for (const wrong of ["", "nonsense", "e30", `${cursor}x`.slice(3), foreign]) {
        t.expect(await codeOf(reader.list({ limit: 1, cursor: wrong }))).toBe("CURSOR_INVALID");
      }
      t.expect(await codeOf(reader.deadLetters({ limit: 1, cursor }))).toBe("CURSOR_INVALID");
      t.expect(await codeOf(reader.children("a", { limit: 1, cursor }))).toBe("CURSOR_INVALID");
      t.expect(await codeOf(reader.documents({ kind: "k", limit: 1, cursor }))).toBe("CURSOR_INVALID");
    },
  },
  {
    name: "missing rows are read as null or as empty lists",
    run: async (t) => {
      const { reader } = t.store;
      t.expect(await reader.get("none")).toBe(null);
      t.expect(await reader.inbox("none")).toEqual([]);
      t.expect(await reader.deadLetter("none")).toBe(null);
      t.expect(await reader.document("none", "none")).toBe(null);
      t.expect(await reader.workers()).toEqual([]);
      t.expect(await reader.list({ limit: 10 })).toEqual({ items: [], cursor: null });
      t.expect(await reader.count({})).toBe(0);
    },
  },
  {
    name: "another store over the same data reads the commits and receives a hint",
    run: async (t) => {
      if (t.another === null) return;
      const other = await t.another();
      let hints = 0;
      const stop = other.watch(() => {
        hints += 1;
      });
      t.world.tick();
      hints = 0;
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], state: suspended({ messages: ["approve"] }) }));
      await t.applied(create("free"));
      for (let round = 0; hints === 0 && round < HINT_ROUNDS; round += 1) {
        t.world.tick();
        await other.reader.get("r");
      }
      t.expect(hints > 0).toBe(true);
      t.expect((await other.load("r"))?.records.length).toBe(1);
      const { wakes } = await other.commit([post(message("r", "m"))]);
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect(await t.due("w", 10)).toEqual(["r"]);
      stop();
    },
  },
];

import { append, create, document, event, message, post, record, suspended, T0 } from "./builders.ts";
import type { Case } from "./trial.ts";

/** Texts that are easily truncated, changed or confused with each other. */
const TEXTS: readonly string[] = [
  "plain",
  "",
  " ",
  "a\0b",
  "a\0c",
  "a",
  "\0",
  "\ud800",
  "\udfff",
  "\udc00\ud800",
  "\ufffd",
  "😀",
  "\u001b",
  "\ufffe",
  "\ufffe0000",
  "\ufffeFFFE",
  "\uffff",
  "\u007f\u0080",
  "\u001b0000",
  "\u001bd800",
  "\u00e9",
  "e\u0301",
  "__proto__",
  "constructor",
  "A",
  "%",
  "_",
  "'; DROP TABLE runs; --",
  '"quoted"',
  "line\nbreak\r\n\u2028",
  "null",
  "1",
  "1.0",
  "x".repeat(300),
];

export const textCases: readonly Case[] = [
  {
    name: "ids and names of any characters are stored unchanged and kept apart",
    run: async (t) => {
      for (const [index, text] of TEXTS.entries()) {
        const run = {
          workflow: text,
          tags: [text],
          startId: text,
          input: text,
          owner: `w${text}`,
          createdAt: T0 + index,
        };
        await t.applied(create(text, run));
      }
      const { items } = await t.store.reader.list({ limit: 100 });
      t.expect(items.map((run) => run.id).reverse()).toEqual(TEXTS);
      for (const text of TEXTS) {
        const expected = { id: text, workflow: text, tags: [text], startId: text, input: text, owner: `w${text}` };
        t.expect(await t.run(text)).toMatchObject(expected);
        for (const query of [{ workflow: text }, { tag: text }]) t.expect(await t.store.reader.count(query)).toBe(1);
      }
    },
  },
  {
    name: "a journal, an inbox and a wait store any text",
    run: async (t) => {
      await t.owned("r");
      for (const [index, text] of TEXTS.entries()) {
        await t.applied(append("r", { records: [record(index + 1, { location: text, payload: text, detail: text })] }));
        t.expect(await t.posted(message("r", text, { name: text, value: text }))).toEqual({ kind: "queued" });
        t.expect(await t.posted(message("r", text))).toEqual({ kind: "duplicate" });
      }
      const journal = await t.store.reader.journal("r", { afterSeq: 0, limit: 100 });
      t.expect(journal.map(({ location, payload, detail }) => [location, payload, detail])).toEqual(
        TEXTS.map((text) => [text, text, text]),
      );
      t.expect((await t.inbox("r")).map(({ id, name, value }) => [id, name, value])).toEqual(
        TEXTS.map((text) => [text, text, text]),
      );
      const open = TEXTS.slice(0, 20).map((text) => ({
        location: text,
        kind: text,
        since: T0,
        until: null,
        arms: [{ kind: "message", name: text } as const],
      }));
      await t.applied(append("r", { state: suspended({ messages: TEXTS, topics: TEXTS, open }, TEXTS.length) }));
      t.expect((await t.run("r")).wait).toMatchObject({ messages: TEXTS, topics: TEXTS, open });
    },
  },
  {
    name: "topics, events and dead letters of any text are kept apart",
    run: async (t) => {
      for (const text of TEXTS) {
        t.expect(await t.posted(event(text, text, { value: text }))).toEqual({ kind: "queued" });
        t.expect(await t.posted(event(text, `dead-${text}`, { value: text, pendingMax: 0 }))).toEqual({
          kind: "queued",
        });
      }
      t.expect((await t.letterReasons()).length).toBe(TEXTS.length * 2);
      const { items } = await t.store.reader.deadLetters({ limit: 100 });
      for (const item of items) t.expect(await t.store.reader.deadLetter(item.id)).toEqual(item);
      t.expect(new Set(items.map(({ target, name, value }) => JSON.stringify([target, name, value]))).size).toBe(
        TEXTS.length,
      );
    },
  },
  {
    name: "documents and workers of any text are kept apart",
    run: async (t) => {
      for (const text of TEXTS) {
        const put = document(text, text, {
          runId: text,
          body: text,
          attributes: { a: text, b: text, c: text, d: text },
        });
        await t.applied({ kind: "documents", documents: [{ put }] });
        await t.store.heartbeat(text, 1000);
      }
      for (const text of TEXTS) {
        const found = await t.store.reader.documents({ kind: text, where: { a: text, d: text }, limit: 10 });
        t.expect(found.items).toMatchObject([{ id: text, runId: text, body: text, attributes: { b: text, c: text } }]);
        t.expect(await t.store.reader.document(text, text)).toEqual(found.items[0]);
      }
      t.expect(new Set((await t.store.reader.workers()).map((worker) => worker.id))).toEqual(new Set(TEXTS));
    },
  },
  {
    name: "values from 1 byte to 1 MB are stored unchanged",
    run: async (t) => {
      await t.owned("r");
      const values = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].map(
        (size) => "é".repeat(size / 2) + "x".repeat(size % 2),
      );
      for (const [index, value] of values.entries()) {
        await t.applied(
          append("r", { records: [record(index + 1, { payload: value })] }),
          post(message("r", `m${index}`, { value })),
        );
      }
      const loaded = await t.store.load("r");
      t.expect(Array.from(loaded?.records ?? [], ({ payload }) => payload)).toEqual(values);
      t.expect(loaded?.inbox.map(({ value }) => value)).toEqual(values);
    },
  },
  {
    name: "null, an empty text and the texts 'null' and 'undefined' are four different values",
    run: async (t) => {
      await t.owned("r");
      const values = [null, "", "null", "undefined"];
      await t.applied(
        append("r", { records: values.map((payload, index) => record(index + 1, { payload, detail: payload })) }),
      );
      const journal = await t.store.reader.journal("r", { afterSeq: 0, limit: 10 });
      t.expect(journal.map(({ payload, detail }) => [payload, detail])).toEqual(values.map((value) => [value, value]));
    },
  },
  {
    name: "every field of a record is stored, including the largest times",
    run: async (t) => {
      await t.owned("r");
      const far = 8_640_000_000_000_000;
      const full = record(1, {
        kind: "select",
        outcome: "timedOut",
        attempts: 70_000,
        startedAt: far - 1,
        at: far,
        detail: "{}",
      });
      await t.applied(append("r", { records: [full], state: suspended({ until: far }) }));
      t.expect(await t.store.reader.journal("r", { afterSeq: 0, limit: 10 })).toEqual([full]);
      t.expect((await t.run("r")).wakeAt).toBe(far);
    },
  },
];

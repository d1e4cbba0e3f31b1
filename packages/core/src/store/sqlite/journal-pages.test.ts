import { afterEach, beforeEach, expect, it } from "vitest";
import type { JournalRecord } from "../../model/record.ts";
import { append, create, record } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { Loaded, Store } from "../store.ts";
import { sqliteStore } from "./index.ts";
import { PAGE_RECORDS } from "./journal-pages.ts";

const T = 1_700_000_000_000;

let store: Store;
beforeEach(async () => {
  store = sqliteStore(":memory:");
  await store.open(new ManualWorld(T));
});
afterEach(() => store.close());

async function written(records: readonly JournalRecord[]): Promise<Loaded> {
  await store.commit([create("long", { owner: "w" }), append("long", { records })]);
  return (await store.load("long")) as Loaded;
}

/** Fills two pages and a part of the third. */
const COUNT = 2 * PAGE_RECORDS + 100;

const several = (like: (index: number) => Partial<JournalRecord>): readonly JournalRecord[] =>
  Array.from({ length: COUNT }, (_, index) =>
    record(index + 1, { location: `charge-${index}`, startedAt: T + index - 3, at: T + index, ...like(index) }),
  );

it("uniform records are read as written, in any order and number", async () => {
  const all = several((index) => ({ payload: JSON.stringify({ index, text: `"\\\u2028 é 🙂 ${index}` }) }));
  const { records, operatorRecords } = await written(all);
  expect([...records]).toEqual(all);
  expect(operatorRecords).toEqual([]);
  for (const index of [0, PAGE_RECORDS, PAGE_RECORDS - 1, COUNT - 1, -1, -COUNT, 5, PAGE_RECORDS + 5]) {
    expect(records.at(index)).toEqual(all.at(index));
  }
  for (const index of [COUNT, COUNT + PAGE_RECORDS, -COUNT - 1]) expect(records.at(index)).toBe(undefined);
  expect(await store.reader.journal("long", { afterSeq: 12, limit: PAGE_RECORDS + 7 })).toEqual(
    all.slice(12, PAGE_RECORDS + 19),
  );
});

/** Records with values that the lists of a page cannot contain unchanged. They are rare, so most pages have other records too. */
const ODD: Readonly<Record<string, Partial<JournalRecord>>> = {
  "a long payload": { payload: JSON.stringify("x".repeat(5_000)) },
  "a payload of several lines": { payload: "a\nb\n" },
  "an empty payload": { payload: "" },
  "no payload": { payload: null },
  "a payload with an escaped character": { payload: JSON.stringify("\ufffe") },
  "a location of several lines": { location: "a\nb" },
  "a location with escaped characters": { location: "charge\u0000\ud800" },
  "a long detail": { detail: "d".repeat(2_050) },
  "a detail of several lines": { detail: "d\ne" },
  "a beginning in the middle of a ms": { startedAt: 12.345_678_9 },
  "an end in the middle of a ms": { at: T + COUNT + 0.567_8 },
  "an end before its beginning": { startedAt: T + 2 * COUNT, at: T + COUNT },
  "another kind": { kind: "sleep" },
  "another outcome": { outcome: "failed" },
  "more attempts": { attempts: 7 },
};

it.each(Object.entries(ODD))("%s among other records is read as written", async (_, odd) => {
  const places = [0, 1, PAGE_RECORDS - 1, PAGE_RECORDS, COUNT - 1];
  const all = several((index) => (places.includes(index) ? odd : { payload: `${index}` }));
  expect([...(await written(all)).records]).toEqual(all);
});

it("records on both sides of a gap in the seqs are read", async () => {
  const all = several(() => ({}));
  await written(all);
  await store.commit([append("long", { records: [], trim: [{ from: 501, to: 509 }] })]);
  const left = all.filter(({ seq }) => seq < 501 || seq > 509);
  expect([...((await store.load("long"))?.records ?? [])]).toEqual(left);
});

it("operator actions are listed separately, at any position", async () => {
  for (const places of [[0], [PAGE_RECORDS, COUNT - 1], [...Array(COUNT).keys()]]) {
    const all = several((index) => (places.includes(index) ? { kind: "operator", location: "~act" } : {}));
    const { records, operatorRecords } = await written(all);
    expect([...records]).toEqual(all);
    expect(operatorRecords).toEqual(places.map((place) => all[place]));
    await store.close();
    store = sqliteStore(":memory:");
    await store.open(new ManualWorld(T));
  }
});

import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Payload, Wait } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import type { EventRow, LetterRow, RunHead } from "../../rules/tables.ts";
import { MemoryRun } from "../memory/memory-run.ts";
import { MemoryTables } from "../memory/memory-tables.ts";
import { ChangeLog } from "./change-log.ts";
import { FORMAT, KEYS } from "./keys.ts";
import type { KvDriver } from "./kv-driver.ts";
import { NameRegistry, type Segment } from "./name-registry.ts";
import { type Numbers, RecordedRows } from "./recorded-rows.ts";
import { DATA_CODEC } from "./recording-tables.ts";
import { decodeTuple, encodeTuple, type TupleItem } from "./tuple.ts";

type StoredRun = RunHead & { readonly wait: Wait | null; readonly places: readonly (readonly [string, number])[] };
type StoredInput = Pick<NewRun, "tags" | "parent" | "limits"> & { readonly input: Payload };
type StoredRecord = Omit<JournalRecord, "seq" | "location"> & { readonly path: readonly Segment[] };

const NO_NUMBERS: Numbers = { runs: 0, events: 0, letters: 0, places: 0 };
const TEXT = new TextDecoder();

/** Loads all rows of a namespace into memory. */
export async function loadRows(driver: KvDriver, onRow: RecordedRows["onRow"]): Promise<RecordedRows> {
  const meta = new Map(
    await rowsOf<unknown>(driver, KEYS.meta).then((rows) => rows.map(({ key, value }) => [key[1], value])),
  );
  const format = meta.get("format") ?? FORMAT;
  if (format !== FORMAT) {
    throw new TypeError(`the namespace has format ${String(format)}; this version supports format ${FORMAT}`);
  }
  const numbers = { ...NO_NUMBERS, ...(meta.get("numbers") as Partial<Numbers> | undefined) };
  const changes = new ChangeLog();
  if (!meta.has("format")) changes.put([KEYS.meta, "format"], () => FORMAT);
  const names = new NameRegistry(changes);
  for (const { value } of await rowsOf<string>(driver, KEYS.name)) names.load(value);
  const memory = new MemoryTables(numbers);
  const rows = new RecordedRows({ memory, changes, names, onRow, places: new Map(), numbers });
  const memoryRuns = await loadRuns(driver, rows);
  await loadJournalsAndInboxes(driver, rows, memoryRuns);
  await loadSharedRows(driver, rows);
  return rows;
}

async function loadRuns(driver: KvDriver, rows: RecordedRows): Promise<ReadonlyMap<TupleItem | undefined, MemoryRun>> {
  const inputs = await byRun<StoredInput>(driver, KEYS.input);
  const outcomes = await byRun<Payload>(driver, KEYS.outcome);
  const memoryRuns = new Map<TupleItem | undefined, MemoryRun>();
  const subscribed: { readonly head: RunHead; readonly topic: string; readonly place: number }[] = [];
  for (const { value } of await rowsOf<StoredRun>(driver, KEYS.run)) {
    const { wait, places, ...head } = value;
    const { input = null, tags = [], parent = null, limits } = inputs.get(head.key) ?? {};
    const memoryRun = new MemoryRun({ input, tags, parent, ...(limits === undefined ? {} : { limits }) }, head);
    memoryRun.wait = wait;
    memoryRun.outcome = outcomes.get(head.key) ?? null;
    memoryRuns.set(head.key, memoryRun);
    rows.memory.runs.load(memoryRun);
    rows.onRow(head.id, head);
    if (places.length > 0) rows.places.set(head.key, new Map(places));
    for (const [topic, place] of places) subscribed.push({ head, topic, place });
  }
  const topics = new Map<RunHead, string[]>();
  for (const { head, topic } of subscribed.sort((left, right) => left.place - right.place)) {
    const all = topics.get(head) ?? [];
    topics.set(head, all);
    all.push(topic);
    rows.memory.topics.subscribe(head, all);
  }
  return memoryRuns;
}

async function loadJournalsAndInboxes(
  driver: KvDriver,
  { names, memory }: RecordedRows,
  memoryRuns: ReadonlyMap<TupleItem | undefined, MemoryRun>,
): Promise<void> {
  for (const { key, value } of await rowsOf<StoredRecord>(driver, KEYS.journal)) {
    const { path, ...rest } = value;
    memoryRuns.get(key[1])?.journal.push({ ...rest, seq: Number(key[2]), location: names.location(path) });
  }
  for (const { key, value } of await rowsOf<InboxEntry>(driver, KEYS.inbox)) {
    memoryRuns.get(key[1])?.inbox.set(value.n, value);
  }
  const known = await rowsOf<{ readonly n: number; readonly at: number }>(driver, KEYS.known);
  for (const { key, value } of known.toSorted((left, right) => left.value.n - right.value.n)) {
    memoryRuns.get(key[1])?.known.set(String(key[2]), value);
  }
  for (const { key, value } of await rowsOf<number>(driver, KEYS.seen)) {
    const memoryRun = memoryRuns.get(key[1]);
    if (memoryRun !== undefined) memory.topics.setSeen(memoryRun.head, String(key[2]), value);
  }
}

async function loadSharedRows(driver: KvDriver, { memory }: RecordedRows): Promise<void> {
  for (const { value } of await rowsOf<EventRow>(driver, KEYS.event)) memory.events.save(value);
  for (const { key, value } of await rowsOf<LetterRow>(driver, KEYS.letter)) {
    memory.letters.load({ n: Number(key[1]), letter: value });
  }
  for (const { value } of await rowsOf<StoredDocument>(driver, KEYS.document)) memory.documents.put(value);
  for (const { key, value } of await rowsOf<Payload>(driver, KEYS.data)) {
    memory.data.set(String(key[1]), DATA_CODEC.decode(value));
  }
}

async function byRun<Row>(driver: KvDriver, kind: number): Promise<ReadonlyMap<TupleItem | undefined, Row>> {
  return new Map((await rowsOf<Row>(driver, kind)).map(({ key, value }) => [key[1], value]));
}

async function rowsOf<Row>(
  driver: KvDriver,
  kind: number,
): Promise<readonly { readonly key: readonly TupleItem[]; readonly value: Row }[]> {
  const entries = await driver.list(encodeTuple([kind]));
  return entries.map(({ key, value }) => ({ key: decodeTuple(key), value: JSON.parse(TEXT.decode(value)) as Row }));
}

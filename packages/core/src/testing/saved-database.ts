import { deepEqual, equal, rejects } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { Store } from "../store/store.ts";
import type { Workflow } from "../workflow/ctx.ts";
import { workflow } from "../workflow/workflow.ts";
import { append, create, document, record, T0 } from "./store-contract/builders.ts";

/**
 * The content of the saved databases, which the folder `fixtures` of each store holds in every published format.
 * `fillDatabase` created it; `expectSavedDatabase` reads it and continues its runs. A saved database is never recreated.
 */

const LONG_INPUT = "x".repeat(1_500);
const ODD_TEXT = "odd\0\ud800";
const WAITING = "order-waiting";
const NEVER = "36500d";
const RAW_RECORDS = [
  record(1, { location: ODD_TEXT }),
  record(2, { kind: "sleep", outcome: "timedOut", attempts: 0, payload: null, detail: '{"until":5}' }),
];

/** `charge` counts how often the step is executed: a continued run must not execute it again. */
function orderWorkflow(charge: () => void): Workflow<{ readonly cents: number }, unknown> {
  return workflow("order", async (ctx, { cents }: { readonly cents: number }) => {
    const charged = await ctx.step("charge", async () => {
      charge();
      return cents;
    });
    const [approval, shipment] = [await ctx.listen("approve"), await ctx.awaitEvent("shipped")];
    return { charged, approval: approval.value, shipment: shipment.value };
  });
}

const reader = workflow("reader", async (ctx) => (await ctx.awaitEvent("news")).value);
const parent = workflow("parent", async (ctx) => await ctx.child(reader, undefined));
const failing = workflow("failing", async () => {
  throw new Error("refused by the bank");
});

/** The stacks of saved failures name files. The machine on which a database was saved must not appear in it. */
export function withoutPaths(dump: string): string {
  return dump.replaceAll(process.cwd(), "/app");
}

/** Fills an empty store through an engine, and returns the engine: its worker still owns the runs when the database is saved. */
export async function fillDatabase(store: Store): Promise<Engine> {
  const order = orderWorkflow(() => undefined);
  // The host on which a database is saved must not appear in it.
  const world = { processes: null };
  const engine = await createEngine({ store, workflows: [order, reader, parent, failing], world });
  const start = async (id: string): Promise<void> =>
    void (await engine.start(order, { cents: 499 }, { id, tags: ["vip", "eu"] }));
  for (const id of [WAITING, "order-paused", "order-completed"]) await start(id);
  await engine.start(parent, undefined, { id: "parent" });
  const failed = await engine.start(failing, undefined, { id: "failed" });
  await rejects(failed.result());
  while ((await engine.list({ status: ["suspended"] })).items.length < 5) await setImmediate();
  await engine.pause("order-paused", "by an operator");
  await engine.send("order-completed", "approve", true);
  await engine.emit("shipped", "by train", { id: "first" });
  await engine.run("order-completed").result();
  await engine.emit("shipped", "by ship", { id: "second", expireAfter: NEVER });
  await engine.send(WAITING, "note", "fragile", { id: "note", onTargetTerminated: "deadLetter" });
  await engine.send("failed", "pay", 1, { id: "late", onTargetTerminated: "deadLetter" });
  await store.commit([create("raw", { workflow: "raw", owner: "gone", input: LONG_INPUT, createdAt: T0 })]);
  await store.commit([
    append("raw", {
      records: RAW_RECORDS,
      documents: [
        { put: document("snapshot", "raw", { runId: "raw", attributes: { a: "1" } }) },
        { put: document("task", "t1", { runId: "raw", attributes: { a: "ann", d: "open" } }) },
      ],
    }),
  ]);
  return engine;
}

/** `inProcess`: the store keeps the rows of workers in memory, because its workers live in the process that opened it. */
interface SavedOptions {
  readonly workers?: "saved" | "inProcess";
}

/** Opens the store over a saved database, checks every kind of row, and continues the suspended runs. */
export async function expectSavedDatabase(
  open: () => Promise<Store>,
  { workers = "saved" }: SavedOptions = {},
): Promise<void> {
  const store = await open();
  await store.open({ now: () => Date.now(), every: () => () => undefined });
  await expectRuns(store);
  await expectRowsOfRuns(store);
  if (workers === "saved") await expectWorkers(store);
  await store.close();
  let charges = 0;
  const order = orderWorkflow(() => {
    charges += 1;
  });
  const engine = await createEngine({ store: await open(), workflows: [order, reader, parent] });
  try {
    await engine.send(WAITING, "approve", "granted");
    await engine.emit("news", "read all about it");
    await engine.cancel("order-paused");
    const paid = { charged: 499, approval: "granted", shipment: "by ship" };
    deepEqual(await engine.run(WAITING).result(), paid);
    equal(await engine.run("parent").result(), "read all about it");
    await rejects(engine.run("order-paused").result(), { code: "RUN_CANCELLED" });
    equal(charges, 0);
    const { items } = await engine.deadLetters.list();
    deepEqual(items.map(({ name }) => name).toSorted(), ["note", "pay"]);
  } finally {
    await engine.shutdown();
  }
}

async function expectRuns(store: Store): Promise<void> {
  const { items } = await store.reader.list({ limit: 20 });
  const child = items.find(({ workflow: name }) => name === "reader");
  deepEqual(Object.fromEntries(items.map(({ id, status }) => [id, status])), {
    [WAITING]: "suspended",
    "order-paused": "paused",
    "order-completed": "completed",
    parent: "suspended",
    [child?.id ?? ""]: "suspended",
    failed: "failed",
    raw: "running",
  });
  equal(child?.parent?.runId, "parent");
  deepEqual(child?.wait?.topics, ["news"]);
  equal(await store.reader.count({ tag: "vip" }), 3);
  const waiting = await store.reader.get(WAITING);
  deepEqual([waiting?.tags, waiting?.wait?.messages, waiting?.wait?.openCount], [["vip", "eu"], ["approve"], 1]);
  const raw = await store.load("raw", 0);
  deepEqual([raw?.run.input, raw?.snapshot?.id, raw?.inbox], [LONG_INPUT, "raw", []]);
  deepEqual([...(raw?.records ?? [])], RAW_RECORDS);
  deepEqual(
    Array.from((await store.load("raw"))?.records ?? [], ({ seq }) => seq),
    [2],
  );
}

async function expectRowsOfRuns({ reader: rows }: Store): Promise<void> {
  const records = await rows.journal(WAITING, { afterSeq: 0, limit: 9 });
  deepEqual(
    records.map(({ location }) => location),
    ["charge"],
  );
  const [entry] = await rows.inbox(WAITING);
  deepEqual([entry?.id, entry?.name, entry?.onTargetTerminated], ["note", "note", "deadLetter"]);
  const letters = (await rows.deadLetters({ limit: 9 })).items;
  deepEqual(
    letters.map(({ target, name }) => [target, name]),
    [["failed", "pay"]],
  );
  const tasks = (await rows.documents({ kind: "task", where: { a: "ann" }, limit: 9 })).items;
  deepEqual(
    tasks.map(({ id }) => id),
    ["t1"],
  );
}

async function expectWorkers({ reader: rows }: Store): Promise<void> {
  const workflows = (await rows.workers()).flatMap((worker) => worker.workflows.map(({ name }) => name));
  deepEqual(workflows.toSorted(), ["failing", "order", "parent", "reader"]);
}

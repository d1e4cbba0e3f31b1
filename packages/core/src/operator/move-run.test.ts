import { describe, expect, it, onTestFinished } from "vitest";
import type { CodecHook } from "../model/payload.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORE_PAIRS, TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";
import { exportRun, importRun } from "./move-run.ts";
import type { RunExport } from "./run-export.ts";

const KEPT = { keepOpen: true } as const;
/** The tests advance time by days. Without polls and heartbeats, only the test acts. */
const SELDOM = { poll: "30 days", lease: "90 days" } as const;

const child = workflow("bill", async (ctx, cents: number) => {
  await ctx.sleep("2 hours");
  return await ctx.step("print", () => `${cents} cents`);
});

/** Uses each kind of operation, with long waits between them. */
const order = workflow("order", async (ctx, input: { readonly cents: number; readonly since: Date }) => {
  const id = ctx.uuid();
  const first = await ctx.step("charge", () => ({ at: ctx.now(), id }), { rollback: () => undefined });
  const bill = await ctx.startChild(child, input.cents);
  const approved = await ctx.listen<{ by: string }>("approve");
  const { both } = await ctx.join("ship", {
    both: async (c) => [await c.step("label", () => "printed"), c.random()],
    wait: (c) => c.sleep("1 hour"),
  });
  const price = await ctx.awaitEvent<number>("price", { timeout: "1 day" });
  const tagged = new Map([["bill", await bill.result()]]);
  await ctx.step("end", () => undefined);
  return { first, approved: approved.value, both, price, tagged, since: input.since, at: ctx.now() };
});

const INPUT = { cents: 499, since: new Date(0) };

/** Lets the run end, and returns it with its journal. */
async function finished(cluster: TestCluster, engine: Awaited<ReturnType<TestCluster["engine"]>>): Promise<unknown> {
  await cluster.world.settle();
  await engine.send("o-1", "approve", { by: "ann" }, { id: "m-1" });
  await cluster.world.advance("1 hour");
  await engine.emit("price", 12, { id: "e-1" });
  await cluster.world.advance("3 hours");
  const run = await engine.get("o-1");
  const { status, output, createdAt, startedAt, endedAt, tags, generation } = run ?? {};
  const journal = await engine.run("o-1").journal();
  const below = await engine.run("o-1//bill").journal();
  return { status, output, createdAt, startedAt, endedAt, tags, generation, journal, below };
}

async function startOrder(cluster: TestCluster): Promise<Awaited<ReturnType<TestCluster["engine"]>>> {
  const engine = await cluster.engine({ ...SELDOM, workflows: [order, child] });
  await engine.start(order, INPUT, { id: "o-1", tags: ["vip"] });
  await cluster.world.advance("10 minutes");
  return engine;
}

describe("moving an open run", () => {
  it.each(TEST_STORE_PAIRS)(
    "a run moved from $from.name to $to.name ends like a run that was not moved",
    async ({ from: home, to: abroad }) => {
      const staying = await home.create(onTestFinished);
      const stayed = await finished(staying, await startOrder(staying));
      expect(stayed).toMatchObject({ status: "completed", output: { price: { value: 12 } } });

      const from = await home.create(onTestFinished);
      await startOrder(from);
      const store = from.connect();
      const text = JSON.stringify(await exportRun(store, "o-1", { clock: from.world.clock }));

      const to = await abroad.create(onTestFinished);
      await to.world.advance("10 minutes");
      const elsewhere = await to.engine({ ...SELDOM, workflows: [order, child] });
      const target = to.connect();
      const report = await importRun(target, text, { clock: to.world.clock });
      expect(report).toEqual({ runId: "o-1", imported: ["o-1", "o-1//bill"], known: [] });
      await elsewhere.recover();
      expect(await finished(to, elsewhere)).toEqual(stayed);
    },
  );
});

describe.each(TEST_STORES)("exporting and importing, on the store $name", ({ create }) => {
  it("an imported run keeps its status if it is completed, failed, cancelled, paused or delayed", async () => {
    const cluster = await create(onTestFinished);
    const flow = workflow("flow", async (ctx, how: string) => {
      if (how === "fail") throw new Error("no");
      if (how === "wait") await ctx.listen("never");
      return how;
    });
    const engine = await cluster.engine({ ...SELDOM, workflows: [flow] });
    const ids = ["done", "fail", "wait", "hold", "later"];
    await engine.start(flow, "done", { id: "done" });
    await engine.start(flow, "fail", { id: "fail" });
    await engine.start(flow, "wait", { id: "wait" });
    await engine.start(flow, "wait", { id: "hold" });
    await engine.start(flow, "done", { id: "later", delay: "1 day" });
    await cluster.world.settle();
    await engine.cancel("wait", "nobody comes");
    await engine.pause("hold", "for a while");
    const other = await create(onTestFinished);
    const client = await other.engine(SELDOM);
    for (const id of ids) {
      const exported = await exportRun(cluster.connect(), id, { clock: cluster.world.clock });
      await importRun(other.connect(), JSON.stringify(exported), { clock: other.world.clock });
      const [before, after] = [await engine.get(id), await client.get(id)];
      expect(after).toMatchObject({ status: before?.status, output: before?.output, endedAt: before?.endedAt });
      expect(after?.error?.message).toBe(before?.error?.message);
    }
    const heir = await other.engine({ ...SELDOM, workflows: [flow] });
    await heir.resume("hold");
    await other.world.settle();
    expect(await heir.run("hold").status()).toBe("suspended");
    expect(await heir.run("later").status()).toBe("pending");
    await other.world.advance("1 day");
    expect(await heir.run("later").status()).toBe("completed");
  });

  it("an imported run keeps its generation, its compensation and its inbox", async () => {
    const undone: string[] = [];
    const rounds = workflow("rounds", async (ctx, round: number) => {
      await ctx.step("take", () => round, { rollback: (value) => void undone.push(`take ${value}`) });
      if (round < 3) return await ctx.continueAs(round + 1);
      const next = await ctx.listen<string>("next");
      await ctx.sleep("1 day");
      throw new Error(next.value);
    });
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ ...SELDOM, workflows: [rounds] });
    await engine.start(rounds, 1, { id: "r" });
    await cluster.world.settle();
    await engine.pause("r");
    await engine.send("r", "next", "enough");
    const exported = await exportRun(cluster.connect(), "r", { clock: cluster.world.clock });
    expect(exported.runs[0]).toMatchObject({ generation: 2, status: "paused", inbox: [{ name: "next" }] });
    const other = await create(onTestFinished);
    const heir = await other.engine({ ...SELDOM, workflows: [rounds] });
    await importRun(other.connect(), exported, { clock: other.world.clock });
    await heir.resume("r");
    await other.world.advance("2 days");
    expect(await other.failure(heir.run("r"))).toMatchObject({
      code: "RUN_FAILED",
      message: expect.stringContaining("enough"),
    });
    expect(undone).toEqual(["take 3"]);
    expect((await heir.get("r"))?.generation).toBe(2);
  });

  it("a repeated import, or an import onto another run's id, changes nothing", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => ctx.sleep("1 day"));
    const engine = await cluster.engine({ ...SELDOM, workflows: [nap] });
    await engine.start(nap, undefined, { id: "n" });
    await cluster.world.settle();
    const exported = await exportRun(cluster.connect(), "n", { clock: cluster.world.clock });
    const other = await create(onTestFinished);
    const heir = await other.engine({ ...SELDOM, workflows: [nap] });
    const options = { clock: other.world.clock };
    await importRun(other.connect(), exported, options);
    await heir.recover();
    await other.world.advance("2 days");
    expect(await importRun(other.connect(), exported, options)).toEqual({ runId: "n", imported: [], known: ["n"] });
    expect(await heir.run("n").status()).toBe("completed");
    const third = await create(onTestFinished);
    const client = await third.engine(SELDOM);
    for (const id of ["another", "n"]) await client.start(nap, undefined, { id });
    const refused = importRun(third.connect(), exported, { clock: third.world.clock });
    await expect(refused).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await expect(exportRun(third.connect(), "nobody", { clock: third.world.clock })).rejects.toMatchObject({
      code: "RUN_NOT_FOUND",
    });
  });

  it("an import encodes the exported values with the codec of the target store", async () => {
    const hook = (key: number): CodecHook => {
      const changed = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ key));
      return {
        encode: (text) => changed(Buffer.from(text, "utf8")).toString("hex"),
        decode: (text) => changed(Buffer.from(text, "hex")).toString("utf8"),
      };
    };
    const cluster = await create(onTestFinished);
    const greet = workflow("greet", async (ctx, who: string) => {
      const text = await ctx.step("compose", () => ({ text: `hello ${who}`, at: new Date(7) }));
      await ctx.sleep("1 day");
      return text;
    });
    const engine = await cluster.engine({ ...SELDOM, workflows: [greet], codec: hook(5) });
    await engine.start(greet, "ann", { id: "g" });
    await cluster.world.settle();
    const exported = await exportRun(cluster.connect(), "g", { codec: hook(5), clock: cluster.world.clock });
    expect(exported.runs[0]?.input).toBe("ann");
    const other = await create(onTestFinished);
    const heir = await other.engine({ ...SELDOM, workflows: [greet], codec: hook(9) });
    await importRun(other.connect(), exported, { codec: hook(9), clock: other.world.clock });
    await heir.recover();
    await other.world.advance("2 days");
    expect(await other.result(heir.run("g"))).toEqual({ text: "hello ann", at: new Date(7) });
  });
});

describe("invalid exports", () => {
  const good: RunExport = {
    format: "pawl.run",
    version: 1,
    exportedAt: 0,
    runs: [
      {
        ...{ id: "r", workflow: "w", version: 1, status: "suspended", tags: [], parent: null, startId: "s" },
        ...{ createdAt: 0, startAt: null, startedAt: 0, endedAt: null, generation: 0, baseSeq: 0, undo: "none" },
        records: [],
        inbox: [],
      },
    ],
  };
  const run = good.runs[0];
  const RECORD = {
    ...{ seq: 1, location: "a", kind: "step", outcome: "ok", attempts: 1, startedAt: 0, at: 0 },
    value: 1,
  };
  const bad: ReadonlyArray<readonly [string, unknown]> = [
    ["invalid JSON", "{"],
    ["null", null],
    ["another format", { ...good, format: "pawl.process" }],
    ["a later version", { ...good, version: 2 }],
    ["no runs", { ...good, runs: [] }],
    ["a run that is not an object", { ...good, runs: [7] }],
    ["an unknown status", { ...good, runs: [{ ...run, status: "lost" }] }],
    ["an unknown undo state", { ...good, runs: [{ ...run, undo: "all" }] }],
    ["a text instead of a number", { ...good, runs: [{ ...run, baseSeq: "0" }] }],
    ["no journal", { ...good, runs: [{ ...run, records: null }] }],
    ["records out of order", { ...good, runs: [{ ...run, records: [RECORD, RECORD] }] }],
    ["a snapshot of a missing record", { ...good, runs: [{ ...run, snapshot: { seq: 7 } }] }],
    ["an incomplete record", { ...good, runs: [{ ...run, records: [{ seq: 1 }] }] }],
    ["an incomplete inbox entry", { ...good, runs: [{ ...run, inbox: [{}] }] }],
    ["no workflow", { ...good, runs: [{ ...run, workflow: 1 }] }],
  ];

  it.each(bad)("importRun rejects an export with: %s", async (_, exported) => {
    const [kind] = TEST_STORES;
    const cluster = await kind?.create(onTestFinished);
    await cluster?.engine(SELDOM);
    const store = cluster?.connect();
    if (store === undefined) throw new Error("there is no store");
    await expect(importRun(store, exported as RunExport, KEPT)).rejects.toMatchObject({ code: "EXPORT_INVALID" });
  });

  it("importRun rejects an export with an invalid run id", async () => {
    const [kind] = TEST_STORES;
    const cluster = await kind?.create(onTestFinished);
    await cluster?.engine(SELDOM);
    const store = cluster?.connect();
    if (store === undefined) throw new Error("there is no store");
    const exported = { ...good, runs: [{ ...run, id: "" }] } as RunExport;
    await expect(importRun(store, exported, KEPT)).rejects.toMatchObject({
      code: "EXPORT_INVALID",
      cause: { code: "ID_INVALID" },
    });
  });
});

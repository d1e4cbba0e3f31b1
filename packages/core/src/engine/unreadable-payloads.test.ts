import { describe, expect, it, onTestFinished } from "vitest";
import { checkReplay, type Engine, exportRun, workflow } from "../index.ts";
import { partialCodec, SECRET } from "../testing/partial-codec.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const CAN_READ = partialCodec({ hasSecondKey: true });
const CANNOT_READ = partialCodec({ hasSecondKey: false });

let charges = 0;
let refunds: unknown[] = [];

const secretChild = workflow("secret child", async (ctx) => {
  await ctx.listen("child go");
  return SECRET;
});

const flows = [
  workflow("input", async (ctx, input: unknown) => {
    await ctx.listen("go");
    return input;
  }),
  workflow("record", async (ctx, _input: unknown) => {
    const charged = await ctx.step("charge", () => {
      charges += 1;
      return SECRET;
    });
    await ctx.listen("go");
    return charged;
  }),
  workflow("message", async (ctx, _input: unknown) => (await ctx.listen("go")).value),
  workflow("messages", async (ctx, _input: unknown) => (await ctx.listenN("go", 1)).messages.map(({ value }) => value)),
  workflow("select", async (ctx, _input: unknown) => (await ctx.select({ go: { message: "go" } })).value),
];

const undoing = workflow("undoing", async (ctx) => {
  await ctx.step("charge", () => SECRET, { rollback: (value) => void refunds.push(value) });
  await ctx.listen("go");
  throw new Error("refused");
});
const ended = workflow("ended", async () => {
  throw new Error(SECRET);
});
const parent = workflow("parent", async (ctx) => await ctx.child(secretChild, undefined));
const all = [...flows, undoing, ended, parent, secretChild];

const paused = { status: "paused", error: { code: "PAYLOAD_UNREADABLE" } };

describe.each(TEST_STORES)("a payload that a worker cannot read, on $name", ({ create }) => {
  /** Starts a run on a worker with both keys, crashes that worker, and sends what the run waits for. */
  async function interrupted(
    start: (engine: Engine) => Promise<unknown>,
    wake: (engine: Engine) => Promise<unknown>,
  ): Promise<TestCluster> {
    charges = 0;
    refunds = [];
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: all, codec: CAN_READ });
    await start(first);
    await cluster.world.settle();
    const sender = await cluster.engine({ codec: CAN_READ });
    cluster.crash(first);
    await wake(sender);
    const blind = await cluster.engine({ workflows: all, codec: CANNOT_READ });
    await cluster.world.advance("10 s");
    // It would claim the resumed run again, and pause it again.
    await blind.shutdown({ drainMs: 0 });
    return cluster;
  }

  const pauses = (cluster: TestCluster) => cluster.log.filter(({ text }) => text === "payload unreadable; run paused");

  /** A worker with both keys resumes the run. */
  async function resumed(cluster: TestCluster, id: string): Promise<unknown> {
    const heir = await cluster.engine({ workflows: all, codec: CAN_READ });
    expect(await heir.get(id)).toMatchObject({ ...paused, unreadable: null });
    await heir.resume(id);
    return await cluster.finish(heir.run(id));
  }

  it.each([
    { name: "input", output: SECRET },
    { name: "record", output: SECRET },
    { name: "message", output: SECRET },
    { name: "messages", output: [SECRET] },
    { name: "select", output: SECRET },
  ])(
    "an unreadable $name pauses the run once, and the run resumes where the codec is right",
    async ({ name, output }) => {
      const flow = flows.find((each) => each.name === name) as (typeof flows)[0];
      const cluster = await interrupted(
        (engine) => engine.start(flow, name === "input" ? SECRET : "plain", { id: "r" }),
        (engine) => engine.send("r", "go", SECRET),
      );
      expect(pauses(cluster)).toMatchObject([{ level: "error", fields: { run: "r", code: "PAYLOAD_UNREADABLE" } }]);
      expect(String(pauses(cluster)[0]?.fields.error)).toContain("resume the run");
      expect(await resumed(cluster, "r")).toEqual(output);
      expect(charges).toBe(name === "record" ? 1 : 0);
    },
  );

  it("an unreadable end of a child pauses the parent, which receives it after it is resumed", async () => {
    const cluster = await interrupted(
      async (engine) => await engine.start(parent, undefined, { id: "p" }),
      async (engine) => {
        const child = (await engine.list({ workflow: "secret child" })).items[0]?.id ?? "";
        await engine.send(child, "child go", null);
      },
    );
    const reader = await cluster.engine({ codec: CAN_READ });
    expect(await reader.get("p")).toMatchObject(paused);
    expect(await resumed(cluster, "p")).toBe(SECRET);
  });

  it("a step whose result cannot be read is undone after the run is resumed, and not counted as a failed rollback", async () => {
    const cluster = await interrupted(
      (engine) => engine.start(undoing, undefined, { id: "r" }),
      (engine) => engine.send("r", "go", null),
    );
    expect(refunds).toEqual([]);
    const heir = await cluster.engine({ workflows: all, codec: CAN_READ });
    expect(await heir.get("r")).toMatchObject(paused);
    await heir.resume("r");
    await cluster.finish(heir.run("r")).catch(() => undefined);
    expect(await heir.get("r")).toMatchObject({ status: "failed", error: { message: "refused" } });
    expect(refunds).toEqual([SECRET]);
  });

  it("one unreadable value fails no page, and no operator call that needs it changes the run", async () => {
    const record = flows[1] as (typeof flows)[0];
    const cluster = await create(onTestFinished);
    const writer = await cluster.engine({ workflows: all, codec: CAN_READ });
    await writer.start(record, SECRET, { id: "r" });
    await cluster.world.advance("1 s");
    await writer.start(ended, undefined, { id: "ended" });
    await cluster.world.advance("1 s");
    await writer.start(record, "plain", { id: "plain" });
    await writer.send("ended", "m", SECRET, { onTargetTerminated: "deadLetter" });
    await writer.documents.revise(null, { kind: "k", id: "d", runId: null, value: SECRET, attributes: { a: "x" } });
    await cluster.world.settle();
    const reader = await cluster.engine({ codec: CANNOT_READ });
    const { items } = await reader.list();
    expect(items.map(({ id, unreadable }) => [id, unreadable?.code ?? null])).toEqual([
      ["plain", null],
      ["ended", "PAYLOAD_UNREADABLE"],
      ["r", "PAYLOAD_UNREADABLE"],
    ]);
    expect((await reader.deadLetters.list()).items).toMatchObject([
      { target: "ended", value: undefined, unreadable: { code: "PAYLOAD_UNREADABLE" } },
    ]);
    expect(await reader.get("ended")).toMatchObject({ status: "failed", error: { code: "PAYLOAD_UNREADABLE" } });
    await expect(reader.retry("ended")).rejects.toMatchObject({ code: "PAYLOAD_UNREADABLE" });
    expect((await reader.explain("ended")).status).toBe("failed");
    expect(await reader.get("r")).toMatchObject({ input: undefined, status: "suspended" });
    expect(await reader.run("r").journal()).toMatchObject([
      { location: "charge", value: undefined, unreadable: { code: "PAYLOAD_UNREADABLE" } },
    ]);
    expect((await reader.documents.list({ kind: "k" })).items).toMatchObject([
      { id: "d", attributes: { a: "x" }, unreadable: { code: "PAYLOAD_UNREADABLE" } },
    ]);
    expect((await reader.explain("r")).status).toBe("suspended");
    const store = cluster.connect();
    const options = { codec: CANNOT_READ, clock: cluster.world.clock };
    await expect(exportRun(store, "r", options)).rejects.toMatchObject({ code: "PAYLOAD_UNREADABLE" });
    const plan = (): never => expect.fail("no plan may be made from values that cannot be read");
    await expect(reader.restart("r", 1, { plan })).rejects.toMatchObject({ code: "PAYLOAD_UNREADABLE" });
    expect(await writer.get("r")).toMatchObject({ status: "suspended", input: SECRET, unreadable: null });
  });

  it("checkReplay lists a run that cannot be read, with the location", async () => {
    const record = flows[1] as (typeof flows)[0];
    const cluster = await create(onTestFinished);
    const writer = await cluster.engine({ workflows: all, codec: CAN_READ });
    await writer.start(record, "plain", { id: "r" });
    await cluster.world.settle();
    const report = await checkReplay({
      store: cluster.connect(),
      workflows: all,
      codec: CANNOT_READ,
      world: cluster.world,
    });
    expect(report.findings).toMatchObject([{ runId: "r", kind: "unreadable", location: "charge" }]);
  });
});

import { intercepted } from "pawl/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "./testing/document.ts";
import { STORES, siteOf } from "./testing/site.ts";

const HEARTBEAT = "2 s";
const model = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);
const TASK = model('<userTask id="u"/>', "s -> u\nu -> e");

describe.each(STORES)("processes of clients, on the store '%s'", (_name, openStore) => {
  test("a client deploys, starts, sees and operates runs that a worker executes", async () => {
    const { open, client, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await client();
    expect(await bpmn.deploy(TASK)).toEqual([{ process: "p", version: 1, isNew: true }]);
    await open();
    const run = await bpmn.start("p", { n: 1 }, { businessKey: "k-1" });
    await world.advance("2 s");
    expect((await bpmn.view(run.id)).currentNodes.map(({ element }) => element)).toEqual(["u"]);
    await bpmn.operate.setVariables(run.id, { n: 2 });
    await bpmn.operate.snapshot(run.id, "here");
    await world.advance("2 s");
    const [task] = (await bpmn.tasks.list()).items;
    await bpmn.tasks.complete(task?.id ?? "", { done: true });
    await world.advance("2 s");
    expect((await bpmn.history(run.id)).elements.map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "completed",
    ]);
    expect((await bpmn.find({ businessKey: "k-1" })).items).toHaveLength(1);
    await bpmn.operate.rollback(run.id, { snapshot: "here" });
    await world.advance("6 s");
    expect((await bpmn.view(run.id)).variables).toEqual({ n: 2 });
  });

  test("a worker executes a version that a client has deployed since, without being told", async () => {
    const { open, client, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    await open({ handlers: { a: () => ({ version: 2 }) } });
    const { bpmn } = await client();
    await bpmn.deploy(model('<serviceTask id="a"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p");
    await world.advance(HEARTBEAT);
    await world.settle();
    expect(await run.result()).toEqual({ version: 2 });
  });

  test("a worker starts the newest version after another process has published it", async () => {
    const { open, client, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const worker = await open();
    await worker.bpmn.deploy(TASK);
    const { bpmn } = await client();
    await bpmn.deploy(model("", "s -> e"), { state: "draft" });
    await world.advance(HEARTBEAT);
    expect((await worker.bpmn.start("p").then(({ id }) => worker.engine.get(id)))?.version).toBe(1);
    await bpmn.publishVersion("p", 2);
    await world.advance(HEARTBEAT);
    expect((await worker.bpmn.start("p").then(({ id }) => worker.engine.get(id)))?.version).toBe(2);
  });

  test("a client emits no events, and says so", async () => {
    const { client } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await client();
    expect(() => bpmn.on("node.started", () => undefined)).toThrow(
      expect.objectContaining({
        code: "OPTION_INVALID",
        message: expect.stringContaining("listen where the engine is"),
      }),
    );
  });
});

test("a worker that cannot read new versions logs it, and tries again at the next heartbeat", async () => {
  const [, openStore] = STORES[0] as (typeof STORES)[0];
  let isDown = false;
  const inner = await openStore(onTestFinished);
  const store = intercepted(inner, async (call, proceed) => {
    if (isDown && call.method === "read") throw new Error("no disk");
    return await proceed();
  });
  const { open, client, log, world } = await siteOf(store, onTestFinished);
  await open({ handlers: { a: () => ({ done: true }) } });
  const { bpmn } = await client();
  await bpmn.deploy(model('<serviceTask id="a"/>', "s -> a\na -> e"));
  const run = await bpmn.start("p");
  isDown = true;
  await world.advance("5 s");
  isDown = false;
  await world.advance("5 s");
  await world.settle();
  expect(await run.result()).toEqual({ done: true });
  expect(JSON.stringify(log)).toContain("no disk");
});

import { memoryStore, workflow } from "pawl";
import { expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { type Options, siteOf } from "../testing/site.ts";

async function site(options: Options = {}) {
  const parts = await siteOf(memoryStore(), onTestFinished);
  return { ...parts, ...(await parts.open(options)) };
}

const model = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);

test("instances are found by incident, active element, join and variable", async () => {
  const fails = ({ variables }: { readonly variables: Readonly<Record<string, unknown>> }): void => {
    if (variables.fails === true) throw new Error("no");
  };
  const { bpmn, world } = await site({ handlers: { a: fails }, retry: { maxAttempts: 1 } });
  const inside = '<parallelGateway id="g"/><serviceTask id="a"/><userTask id="u"/><parallelGateway id="j"/>';
  await bpmn.deploy(model(inside, "s -> g\ng -> a\ng -> u\na -> j\nu -> j\nj -> e"));
  await bpmn.start("p", { fails: true, order: { id: 1 } }, { id: "broken" });
  await bpmn.start("p", { fails: false, order: { id: 2 } }, { id: "waits" });
  const done = await bpmn.start("p", { fails: false, order: { id: 2 } }, { id: "done" });
  await world.settle();
  await bpmn.completeTask(done.id, "u/task");
  await world.settle();
  const ids = async (query: Parameters<typeof bpmn.find>[0]): Promise<readonly string[]> =>
    (await bpmn.find(query)).items.map(({ id }) => id).sort();
  expect(await ids({ incident: true })).toEqual(["broken"]);
  expect(await ids({ incident: false })).toEqual(["waits"]);
  expect(await ids({ element: "u" })).toEqual(["broken", "waits"]);
  expect(await ids({ element: "j" })).toEqual(["waits"]);
  expect(await ids({ element: "a", incident: true, process: "p" })).toEqual(["broken"]);
  expect(await ids({ variable: { name: "order", value: { id: 2 } } })).toEqual(["done", "waits"]);
  expect(await ids({ variable: { name: "order", value: { id: 2 } }, status: ["completed"] })).toEqual(["done"]);
  expect(await ids({ variable: { name: "toString", value: undefined } })).toEqual([]);
});

test("definitions and runs of code are not listed as instances, also if all of a page are", async () => {
  const { bpmn, engine, world } = await site();
  const code = workflow("code", async () => 1);
  await engine.register(code);
  await bpmn.deploy(model("", "s -> e"));
  const run = await bpmn.start("p");
  for (let i = 0; i < 5; i += 1) await engine.start(code, undefined);
  await world.settle();
  expect((await bpmn.find()).items.map(({ id }) => id)).toEqual([run.id]);
  expect((await bpmn.find({ limit: 2 })).items.map(({ id }) => id)).toEqual([run.id]);
  expect((await bpmn.find({ process: "code" })).items).toEqual([]);
});

test("instances are found by who started them, by business key and by priority, together", async () => {
  const { bpmn, world } = await site();
  await bpmn.deploy(model('<userTask id="u"/>', "s -> u\nu -> e"));
  await bpmn.start("p", {}, { id: "1", startedBy: "ann", businessKey: "k", priority: "low" });
  await bpmn.start("p", {}, { id: "2", startedBy: "ann", businessKey: "k", priority: "urgent" });
  await bpmn.start("p", {}, { id: "3", startedBy: "bob", businessKey: "k" });
  await world.settle();
  const ids = async (query: Parameters<typeof bpmn.find>[0]): Promise<readonly string[]> =>
    (await bpmn.find(query)).items.map(({ id }) => id).sort();
  expect(await ids({ startedBy: "ann" })).toEqual(["1", "2"]);
  expect(await ids({ businessKey: "k", startedBy: "bob" })).toEqual(["3"]);
  expect(await ids({ businessKey: "k", priority: { atLeast: 50 } })).toEqual(["2"]);
  expect(await ids({ priority: { atMost: 50 } })).toEqual(["1"]);
  expect(await ids({ priority: {} })).toEqual(["1", "2"]);
});

test.each([{ incident: "yes" }, { variable: { value: 1 } }, { priority: { least: 1 } }, { elment: "u" }])(
  "the query %j is rejected",
  async (query) => {
    const { bpmn } = await site();
    await expect(bpmn.find(query as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:OPTION|NAME)_INVALID$/),
    });
  },
);

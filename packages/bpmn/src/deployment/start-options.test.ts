import { memoryStore } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { problemsOf } from "../definition/problem.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Options, siteOf } from "../testing/site.ts";

async function site(options: Options = {}) {
  const parts = await siteOf(memoryStore(), onTestFinished);
  return { ...parts, ...(await parts.open(options)) };
}

const model = (start: string, inside: string, text: string): string =>
  documentOf(`<startEvent id="s"${start}<endEvent id="e"/>${inside}${flows(text)}`);

const SCHEMA =
  '{"type":"object","required":["cents"],"properties":{"cents":{"type":"integer","minimum":1},"note":{"type":"string","default":"-"}}}';
const attribute = (name: string, schema: string): string => ` pawl:${name}="${schema.replaceAll('"', "&quot;")}"`;

describe("who starts an instance, and how urgently", () => {
  test("the starting user and the priority are seen in the view, in jobs, and in called instances", async () => {
    const seen: unknown[] = [];
    const { bpmn, world } = await site({ tasks: { serviceTask: ({ startedBy }) => void seen.push(startedBy) } });
    const inner = model("/>", '<serviceTask id="t"/><userTask id="u"/>', "s -> t\nt -> u\nu -> e");
    await bpmn.deploy(inner.replace('"p"', '"inner"'));
    await bpmn.deploy(model("/>", '<callActivity id="c" calledElement="inner"/>', "s -> c\nc -> e"));
    const run = await bpmn.start("p", {}, { startedBy: "ann", priority: "high" });
    await world.settle();
    const { startedBy, priority, startedAt } = await bpmn.view(run.id);
    expect([startedBy, priority, startedAt > 0]).toEqual(["ann", 75, true]);
    expect(seen).toEqual(["ann"]);
    const [called] = (await bpmn.find({ process: "inner", startedBy: "ann", priority: { atLeast: 75 } })).items;
    expect((await bpmn.view(called?.id ?? "")).startedBy).toBe("ann");
    expect((await bpmn.tasks.list()).items.map((task) => task.priority)).toEqual([75]);
    const plain = await bpmn.start("p");
    await world.settle();
    expect(await bpmn.view(plain.id)).toMatchObject({ startedBy: null, priority: null });
  });

  test("a task with a priority of its own keeps it", async () => {
    const { bpmn, world } = await site();
    await bpmn.deploy(model("/>", '<userTask id="u" pawl:priority="low"/>', "s -> u\nu -> e"));
    await bpmn.start("p", {}, { priority: 90 });
    await world.settle();
    expect((await bpmn.tasks.list()).items.map(({ priority }) => priority)).toEqual([25]);
  });

  test.each([{ priority: "hgih" }, { priority: Number.NaN }, { priority: null }, { startedBy: "" }, { startedBy: 5 }])(
    "the start option %j is rejected",
    async (options) => {
      const { bpmn } = await site();
      await bpmn.deploy(model("/>", "", "s -> e"));
      await expect(bpmn.start("p", {}, options as never)).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:OPTION|NAME)_INVALID$/),
      });
    },
  );
});

describe("start forms", () => {
  test("variables that do not match the form of the start event are rejected, and nothing starts", async () => {
    const { bpmn, world } = await site();
    await bpmn.deploy(model(`${attribute("formSchema", SCHEMA)}/>`, "", "s -> e"));
    const wrong = bpmn.start("p", { cents: 0 }, { id: "r" });
    await expect(wrong).rejects.toMatchObject({ code: "FORM_INVALID" });
    await expect(wrong).rejects.toThrow("cannot start process p: cents:");
    await expect(bpmn.start("p", {})).rejects.toMatchObject({ code: "FORM_INVALID" });
    expect((await bpmn.find({ process: "p" })).items).toEqual([]);
    expect(await ended(world, await bpmn.start("p", { cents: 5 }, { id: "r" }))).toEqual({ cents: 5, note: "-" });
  });

  test("a form that the engine knows by its id is checked at a start, and its computed defaults are filled in", async () => {
    const { bpmn, world } = await site({ forms: { order: JSON.parse(SCHEMA) } });
    const graph = (data: Record<string, unknown>) => ({
      id: "g",
      nodes: [
        { id: "s", type: "startProcess", data },
        { id: "e", type: "endProcess" },
      ],
      connections: [{ source: "s", target: "e" }],
    });
    await bpmn.deploy(graph({ formId: "order" }));
    await expect(bpmn.start("g", { cents: "much" })).rejects.toMatchObject({ code: "FORM_INVALID" });
    expect(await ended(world, await bpmn.start("g", { cents: 1 }))).toEqual({ cents: 1, note: "-" });
    await bpmn.deploy(graph({ form: { schema: JSON.parse(SCHEMA), defaults: { cents: "=base * 2" } } }));
    expect(await ended(world, await bpmn.start("g", { base: 4 }))).toEqual({ base: 4, cents: 8, note: "-" });
  });

  test("a start form with an unknown keyword is a problem of the model", async () => {
    const { bpmn } = await site();
    const error = await bpmn
      .deploy(model(`${attribute("formSchema", '{"typo":"object"}')}/>`, "", "s -> e"))
      .catch((reason: unknown) => reason);
    expect(problemsOf(error)).toMatchObject([{ element: "s", text: expect.stringContaining("form schema") }]);
  });
});

describe("input schemas", () => {
  test("an activity whose input does not match its schema is an incident, and continues when it is corrected", async () => {
    const calls: unknown[] = [];
    const { bpmn, world } = await site({ handlers: { a: ({ variables }) => void calls.push(variables.cents) } });
    await bpmn.deploy(model("/>", `<serviceTask id="a"${attribute("inputSchema", SCHEMA)}/>`, "s -> a\na -> e"));
    const run = await bpmn.start("p", { cents: "five" });
    await world.settle();
    const [incident] = (await bpmn.view(run.id)).incidents;
    expect(incident).toMatchObject({ element: "a", kind: "invalid" });
    expect(incident?.message).toContain("the input of a is invalid: cents:");
    expect(calls).toEqual([]);
    await bpmn.operate.setVariables(run.id, { cents: 5 });
    await bpmn.operate.retry(run.id, incident?.row ?? 0);
    await ended(world, run);
    expect(calls).toEqual([5]);
  });

  test("an input schema sees the mapped inputs, and that of a start event is checked at a start", async () => {
    const { bpmn, world } = await site({ handlers: { a: () => ({ done: true }) } });
    const inputSchema = { type: "object", required: ["total"], properties: { total: { type: "number" } } };
    const graph = {
      id: "g",
      nodes: [
        { id: "s", type: "startProcess", data: { inputSchema: { type: "object", required: ["n"] } } },
        { id: "a", type: "serviceTask", data: { inputs: { total: "=n * 2" }, inputSchema } },
        { id: "e", type: "endProcess" },
      ],
      connections: [
        { source: "s", target: "a" },
        { source: "a", target: "e" },
      ],
    };
    await bpmn.deploy(graph);
    await expect(bpmn.start("g")).rejects.toMatchObject({ code: "FORM_INVALID" });
    expect(await ended(world, await bpmn.start("g", { n: 1 }))).toEqual({ n: 1, done: true });
  });

  test("an input schema that is no schema is a problem of the model", async () => {
    const { bpmn } = await site();
    for (const schema of ["{", '{"typo":1}']) {
      const error = await bpmn
        .deploy(model("/>", `<task id="a"${attribute("inputSchema", schema)}/>`, "s -> a\na -> e"))
        .catch((reason: unknown) => reason);
      expect(problemsOf(error)).toMatchObject([{ element: "a", text: expect.stringContaining("input schema") }]);
    }
  });
});

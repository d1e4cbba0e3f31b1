import { memoryStore } from "pawl";
import { expect, onTestFinished, test } from "vitest";
import { createBpmn } from "../bpmn.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Options, siteOf } from "../testing/site.ts";
import { problemsOf } from "./problem.ts";
import type { Graph, GraphNode } from "./read-graph.ts";

async function site(options: Options) {
  const store = memoryStore();
  const { open, world } = await siteOf(store, onTestFinished);
  return { ...(await open(options)), open, world };
}

/** One node between start and end, and a task that its error boundary may name. */
function graphOf(node: GraphNode): Graph {
  return {
    id: "g",
    nodes: [
      { id: "s", type: "startProcess" },
      node,
      { id: "rescue", type: "serviceTask" },
      { id: "e", type: "endProcess" },
    ],
    connections: [
      { source: "s", target: node.id },
      { source: node.id, target: "e" },
      { source: "rescue", target: "e" },
    ],
  };
}

const rescue: NonNullable<Options["handlers"]>[string] = ({ variables }) => ({ rescued: variables.error });

test("a node type that an application adds calls its handler, also in an engine that did not deploy the graph", async () => {
  const sent: unknown[] = [];
  const slack: NonNullable<Options["handlers"]>[string] = ({ element, variables }) => {
    sent.push([element.properties.channel, element.properties.message, variables.n]);
    return { posted: true };
  };
  const nodeTypes = { slack };
  const { bpmn, open, world, process } = await site({ nodeTypes, handlers: { rescue } });
  const data = { channel: "#ops", message: "done", errorBoundary: "rescue" };
  await bpmn.deploy(graphOf({ id: "post", type: "slack", data }));
  expect(await ended(world, await bpmn.start("g", { n: 1 }))).toEqual({ n: 1, posted: true });
  process.crash();
  const other = await open({ nodeTypes });
  expect(await ended(world, await other.bpmn.start("g", { n: 2 }))).toEqual({ n: 2, posted: true });
  expect(sent).toEqual([
    ["#ops", "done", 1],
    ["#ops", "done", 2],
  ]);
});

test("a node type that no engine has registered is a problem of the graph, and later an incident that names the type", async () => {
  const { bpmn, open, world, process } = await site({ nodeTypes: { slack: () => ({}) } });
  const unknown = await bpmn.deploy(graphOf({ id: "post", type: "teams" })).catch((error: unknown) => error);
  expect(problemsOf(unknown)[0]?.text).toContain("unknown node type teams");
  await bpmn.deploy(graphOf({ id: "post", type: "slack", data: { errorBoundary: "rescue" } }));
  process.crash();
  const other = await open();
  const run = await other.bpmn.start("g");
  await world.settle();
  expect((await other.bpmn.view(run.id)).incidents).toMatchObject([
    { kind: "noHandler", message: expect.stringContaining("type slack, which is not among the nodeTypes") },
  ]);
});

test("a node type with a name of BPMN is rejected", async () => {
  const { engine } = await site({});
  await expect(createBpmn({ engine, nodeTypes: { userTask: () => ({}) } })).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: expect.stringContaining("userTask is a node type of BPMN"),
  });
});

test("a property nodeType of a service task in a BPMN document calls the handler of the type", async () => {
  const { bpmn, world } = await site({ nodeTypes: { slack: () => ({ posted: true }) } });
  await bpmn.deploy(documentOf(`<startEvent id="s"/><serviceTask id="a" pawl:nodeType="slack"/>${flows("s -> a")}`));
  expect(await ended(world, await bpmn.start("p"))).toEqual({ posted: true });
});

test("a handler that exceeds the timeout of its node is aborted and retried, and its error boundary catches the failure", async () => {
  let aborted = 0;
  const slow: NonNullable<Options["handlers"]>[string] = async ({ signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    aborted += 1;
  };
  const { bpmn, world } = await site({ handlers: { slow, rescue } });
  const data = { timeout: "PT5S", retry: { max: 1, initialMs: 1_000, jitter: 0 }, errorBoundary: "rescue" };
  await bpmn.deploy(graphOf({ id: "slow", type: "serviceTask", data }));
  const run = await bpmn.start("g");
  await world.advance(11_000);
  const output = await ended(world, run);
  expect(output).toMatchObject({
    rescued: { element: "slow", message: expect.stringContaining("exceeded its timeout") },
  });
  expect(aborted).toBe(2);
  const { elements } = await bpmn.history(run.id);
  expect(elements.find(({ element }) => element === "slow")?.status).toBe("failed");
});

test("a timeout that is no duration, or of a node without a handler, is a problem of the graph", async () => {
  const { bpmn } = await site({});
  const found = async (node: GraphNode): Promise<readonly string[]> =>
    problemsOf(await bpmn.deploy(graphOf(node)).catch((error: unknown) => error)).map(({ text }) => text);
  const data = { errorBoundary: "rescue" };
  expect(await found({ id: "a", type: "serviceTask", data: { ...data, timeout: "soon" } })).toEqual([
    "data.timeout must be milliseconds or a duration such as PT5S",
  ]);
  expect(await found({ id: "a", type: "userTask", data: { ...data, timeout: 5_000 } })).toEqual([
    "data.timeout limits tasks with handlers; add a boundary event with a timer instead",
  ]);
});

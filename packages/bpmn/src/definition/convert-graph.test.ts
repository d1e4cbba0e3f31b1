import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { bpmnToGraphs, graphToBpmn } from "./convert-graph.ts";
import { type Box, layoutOf } from "./layout.ts";
import { inspectBpmn } from "./read-bpmn.ts";
import { type Graph, type GraphNode, readGraph } from "./read-graph.ts";

const GRAPH: Graph = {
  id: "order",
  name: "An order",
  versionTag: "v1",
  variables: ["draft"],
  nodes: [
    {
      id: "s",
      type: "startEvent",
      data: {
        message: { name: "ordered", key: "=id" },
        form: { schema: { type: "object", required: ["id"] }, defaults: { day: "=today()" } },
      },
    },
    {
      id: "charge",
      type: "serviceTask",
      data: {
        label: "Charge <it> & more",
        inputs: { total: "=price * n", kind: "small\n & beautiful" },
        outputs: { paid: "=response.paid" },
        retry: { max: 4, backoff: "fixed", initialMs: 50 },
        resultVariable: "response",
        serviceConfig: {
          method: "PUT",
          url: `https://bank.example/$\{id}`,
          headers: { "X-Id": "=id" },
          requestBody: { total: "=total" },
          responseVariable: "response",
        },
        listeners: [
          { event: "start", handler: "begin", retries: 2 },
          { event: "end", handler: "finish" },
        ],
        timeout: "PT5S",
      },
    },
    {
      id: "charge.errorBoundary",
      type: "boundaryEvent",
      data: { attachedTo: "charge", error: { code: "NO", codeVariable: "c", messageVariable: "m", failures: true } },
    },
    { id: "g", type: "exclusiveGateway" },
    { id: "post", type: "slack", data: { channel: "#ops", properties: { inputs: "own" } } },
    {
      id: "code",
      type: "scriptTask",
      data: { script: "\n  const a = 1 < 2 && '</script>';\n  return a;\n", resultVariable: "a", timeout: "100" },
    },
    {
      id: "ask",
      type: "userTask",
      data: { formSchema: { type: "object", properties: { ok: {} } }, assignee: "=boss" },
    },
    { id: "many", type: "subProcess", data: { multiInstance: { collection: "items", item: "i" }, variables: ["own"] } },
    { id: "e", type: "endEvent", data: { terminate: true } },
    { id: "in", type: "startEvent", parent: "many" },
    { id: "pay", type: "serviceTask", parent: "many", data: { handler: "pay", compensatedBy: "refund" } },
    { id: "pay.compensation", type: "boundaryEvent", parent: "many", data: { attachedTo: "pay", compensation: true } },
    { id: "refund", type: "serviceTask", parent: "many", data: { isForCompensation: true } },
    { id: "undo", type: "endEvent", parent: "many", data: { compensation: "pay" } },
  ],
  connections: [
    { id: "f1", source: "s", target: "charge" },
    { id: "f2", source: "charge", target: "g" },
    { id: "f3", source: "charge.errorBoundary", target: "ask" },
    { id: "f4", source: "g", target: "post", label: "many", condition: "n > 1" },
    { id: "f5", source: "g", target: "code", condition: { text: "n < 0", language: "feel" } },
    { id: "f6", source: "g", target: "ask", isDefault: true },
    { id: "f7", source: "post", target: "many" },
    { id: "f8", source: "code", target: "many" },
    { id: "f9", source: "ask", target: "many" },
    { id: "f10", source: "many", target: "e" },
    { id: "f11", source: "in", target: "pay" },
    { id: "f12", source: "pay", target: "undo" },
  ],
};
const OPTIONS = { nodeTypes: ["slack"] };

const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((each) => each.trim() !== "" && !/\p{C}|[$#]\{|^\s*=/u.test(each));
const trimmed = text.map((each) => each.trim());
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const formula = fc.constantFrom("=a + 1", "=if a then b else c", `$\{a}`, '="x" + y', "=a < 2");
const value = fc.oneof(trimmed, formula);
const condition = fc.constantFrom("a > 1", 'x = "<&>"', "true");
const mapping = fc.dictionary(name, value, { minKeys: 1, maxKeys: 3, noNullPrototype: true });

function record(fields: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) {
  return fc.record(fields, { requiredKeys, noNullPrototype: true }) as fc.Arbitrary<Record<string, unknown>>;
}

const message = fc.oneof(trimmed, record({ name: trimmed, key: value }, ["name", "key"]));
const trigger = fc.oneof(
  record({ message }, ["message"]),
  record({ signal: value }, ["signal"]),
  record({ timer: fc.constantFrom({ duration: "PT1H" }, { date: "=now()" }, { cycle: "R3/PT1M" }) }, ["timer"]),
  record({ condition }, ["condition"]),
);
const thrown = fc.oneof(
  record({ message }, ["message"]),
  record({ signal: value }, ["signal"]),
  record({ escalation: fc.oneof(trimmed, fc.constant(true)) }, ["escalation"]),
);
const listeners = fc.array(
  record({ event: fc.constant("start"), handler: trimmed, retries: fc.integer({ min: 1, max: 9 }) }, [
    "event",
    "handler",
  ]),
  { minLength: 1, maxLength: 2 },
);
const form = record(
  { schema: fc.constant({ type: "object", properties: { a: { type: "string" } } }), defaults: mapping },
  ["schema"],
);
const conditional = fc.array(
  record({ when: condition, signal: value, escalation: trimmed }, ["when"]).map(({ escalation, ...rest }) =>
    "signal" in rest || escalation === undefined ? rest : { ...rest, escalation },
  ),
  { minLength: 1, maxLength: 2 },
);
const single = fc.tuple(fc.constantFrom("each", "first"), thrown).map(([when, event]) => [{ when, ...event }]);
const multiInstance = record(
  {
    sequential: fc.constant(true),
    cardinality: fc.constantFrom("3", "n"),
    collection: name,
    item: name,
    output: record({ variable: name, element: condition }, ["variable", "element"]),
    completion: condition,
    throws: fc.oneof(conditional, single),
  },
  ["cardinality"],
);
const activity = {
  label: text,
  inputs: mapping,
  outputs: mapping,
  dataOutputs: fc.dictionary(name, condition, { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
  multiInstance,
  listeners,
  startQuantity: fc.constant(2),
  completionQuantity: fc.constant(3),
};
const retry = record(
  { max: fc.nat(9), backoff: fc.constantFrom("linear", "fixed"), initialMs: fc.nat(999), jitter: fc.constant(0.5) },
  ["max"],
);
const task = { ...activity, handler: trimmed, retry, resultVariable: name, ownNote: text, assignee: trimmed };

const deployment = fc.constant({ kind: "deployment" });
const tagged = trimmed.map((tag) => ({ kind: "versionTag", tag }));
const binding = fc.oneof(
  deployment,
  tagged,
  fc.integer({ min: 1, max: 9 }).map((version) => ({ kind: "version", version })),
);

const node: fc.Arbitrary<Omit<GraphNode, "id">> = fc.oneof(
  record(task).map((data) => ({ type: "serviceTask", data })),
  record({ ...task, ruleId: trimmed, binding }).map((data) => ({ type: "businessRuleTask", data })),
  record({ ...task, script: text, scriptFormat: fc.constant(null) }, ["script"]).map((data) => ({
    type: "scriptTask",
    data,
  })),
  record({ ...task, script: fc.constant("1 + 1"), scriptFormat: fc.constant("feel") }, ["script", "scriptFormat"]).map(
    (data) => ({ type: "scriptTask", data }),
  ),
  record({ ...task, message }, ["message"]).map((data) => ({ type: "sendTask", data })),
  record({ ...activity, message }, ["message"]).map((data) => ({ type: "receiveTask", data })),
  record({ ...activity, candidateGroups: trimmed, formId: trimmed, form, binding }).map((data) => ({
    type: "userTask",
    data,
  })),
  record(
    {
      ...activity,
      calledElement: value,
      version: fc.integer({ min: 1, max: 9 }),
      binding: fc.oneof(deployment, tagged),
      waits: fc.constant(false),
      passes: fc.constant("inputs"),
      returns: fc.constantFrom("all", "outputs"),
    },
    ["calledElement"],
  ).map((data) => ({ type: "callActivity", data })),
  trigger.map((data) => ({ type: "intermediateCatchEvent", data })),
  fc
    .array(trigger, { minLength: 2, maxLength: 3 })
    .map((triggers) => ({ type: "intermediateCatchEvent", data: { triggers, parallel: true } })),
  thrown.map((data) => ({ type: "intermediateThrowEvent", data })),
  record({ ...activity, active: name, sequential: fc.constant(true), completion: condition }).map((data) => ({
    type: "adHocSubProcess",
    data,
  })),
);

/** A chain of nodes with random data. */
function chainOf(nodes: readonly Omit<GraphNode, "id">[]): Graph {
  const made = nodes.map((each, i): GraphNode => {
    const isEmpty = Object.keys(each.data ?? {}).length === 0;
    return isEmpty ? { id: `n${i}`, type: each.type } : { ...each, id: `n${i}` };
  });
  const all: GraphNode[] = [{ id: "s", type: "startEvent" }, ...made, { id: "e", type: "endEvent" }];
  const connections = all.slice(1).map(({ id }, i) => ({ id: `f${i}`, source: all[i]?.id ?? "", target: id }));
  return { id: "g", nodes: all, connections };
}

describe("conversion of JSON graphs", () => {
  test("a graph becomes a BPMN document, and the document the same graph", async () => {
    const document = graphToBpmn(GRAPH, OPTIONS);
    expect(await bpmnToGraphs(document)).toEqual([GRAPH]);
  });

  test("random graphs become documents, and the documents the same graphs and processes", async () => {
    const nodes = fc.array(node, { minLength: 1, maxLength: 4 }).map(chainOf);
    await fc.assert(
      fc.asyncProperty(nodes, async (graph) => {
        const document = graphToBpmn(graph);
        expect(await bpmnToGraphs(document)).toEqual([graph]);
        const { processes, problems, warnings, ignored } = await inspectBpmn(document);
        expect([problems.all, warnings, ignored]).toEqual([[], [], []]);
        const own = [...readGraph(graph).elements.values()].map((each) => ({ ...each, line: null, properties: {} }));
        const read = [...(processes[0]?.elements.values() ?? [])].map((each) => ({
          ...each,
          line: null,
          properties: {},
        }));
        expect(read).toEqual(own);
      }),
      { numRuns: 400 },
    );
  });

  test("the variables of people and handlers in a BPMN document are data of its graph", async () => {
    const document = documentOf(
      `<startEvent id="s"/><userTask id="a" pawl:candidateGroups="sales"><extensionElements><pawl:properties>
       <pawl:property name="note" value="one"/></pawl:properties></extensionElements></userTask>${flows("s -> a")}`,
    );
    const [graph] = await bpmnToGraphs(document);
    expect(graph?.nodes[1]).toEqual({ id: "a", type: "userTask", data: { candidateGroups: "sales", note: "one" } });
  });

  test("a graph that cannot be deployed, and a text that XML cannot contain, are rejected", () => {
    const wrong = (data: Record<string, unknown>): Graph => chainOf([{ type: "serviceTask", data }]);
    expect(() => graphToBpmn(wrong({ retry: 5 }))).toThrow("data.retry must be an object");
    expect(() => graphToBpmn(wrong({ label: "a\u0000b" }))).toThrow("a text contains the character U+0000");
    expect(() => graphToBpmn(wrong({ label: "\ud800" }))).toThrow("a text contains the character U+d800");
    expect(() => graphToBpmn(GRAPH)).toThrow("unknown node type slack");
    expect(() => graphToBpmn(GRAPH, { types: [] } as never)).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  test("ids of every allowed form, and properties with any name, survive the way to a document and back", async () => {
    const ids = [
      "1a",
      "a.b-c_d",
      "Prüfung",
      "message-1",
      "n:1",
      "pawl:x",
      "s.shape",
      "definitions",
      "注文",
      "pawl_1",
      "pawl_",
      "_",
      "1_2_",
    ];
    const data = JSON.parse('{"properties":{"__proto__":"p","constructor":"c"},"toString":"t","a b":"x"}');
    const nodes: GraphNode[] = [
      { id: "s", type: "startEvent" },
      ...ids.map((id): GraphNode => ({ id, type: "sendTask", data: { message: "m", ...data } })),
    ];
    const connections = ids.map((id, i) => ({ id: `f:${i}`, source: nodes[i]?.id ?? "", target: id }));
    const graph: Graph = { id: "g:1", nodes, connections };
    const document = graphToBpmn(graph);
    expect((await inspectBpmn(document)).problems.all).toEqual([]);
    const [again] = await bpmnToGraphs(document);
    expect(again?.nodes.map(({ id }) => id)).toEqual(nodes.map(({ id }) => id));
    expect(again?.connections).toEqual(connections);
    expect(again?.nodes[1]?.data).toMatchObject({ toString: "t", "a b": "x", constructor: "c" });
  });

  test("a graph whose document would be too large to read is rejected", () => {
    const label = "x".repeat(990_000);
    const nodes: GraphNode[] = [
      { id: "s", type: "startEvent" },
      ...Array.from({ length: 12 }, (_, i): GraphNode => ({ id: `n${i}`, type: "task", data: { label } })),
    ];
    const connections = nodes.slice(1).map(({ id }, i) => ({ source: nodes[i]?.id ?? "", target: id }));
    expect(() => graphToBpmn({ id: "g", nodes, connections })).toThrow("can be read");
  });

  test("sub-processes that are nested too deeply for a document are rejected", () => {
    const nodes = Array.from({ length: 300 }, (_, i): GraphNode => {
      const parent = i === 0 ? {} : { parent: `n${i - 1}` };
      return { id: `n${i}`, type: "subProcess", ...parent };
    });
    const connections = [{ source: "s", target: "n0" }];
    expect(() => graphToBpmn({ id: "g", nodes: [{ id: "s", type: "startEvent" }, ...nodes], connections })).toThrow(
      "nested more than 50 levels deep",
    );
  });
});

describe("generated diagrams", () => {
  const overlap = (a: Box, b: Box): boolean =>
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  test("every element has its place, inside of its sub-process and beside its neighbours, and every flow a line", async () => {
    const process = readGraph({
      ...GRAPH,
      nodes: GRAPH.nodes.filter(({ type }) => type !== "slack"),
      connections: GRAPH.connections.filter(({ source, target }) => source !== "post" && target !== "post"),
    });
    const { boxes, lines } = layoutOf(process);
    const elements = [...process.elements.values()];
    expect([...boxes.keys()].sort()).toEqual(elements.map(({ id }) => id).sort());
    expect([...lines.keys()].sort()).toEqual([...process.flows.keys()].sort());
    for (const element of elements) {
      const box = boxes.get(element.id);
      const outer = boxes.get(element.scope);
      if (box === undefined) throw new Error(`${element.id} has no place`);
      if (outer !== undefined) {
        expect([box.x > outer.x, box.y > outer.y]).toEqual([true, true]);
        expect([box.x + box.width < outer.x + outer.width, box.y + box.height < outer.y + outer.height]).toEqual([
          true,
          true,
        ]);
      }
      const beside = elements.filter(
        ({ id, scope, type }) => id !== element.id && scope === element.scope && type !== "boundaryEvent",
      );
      if (element.type === "boundaryEvent") continue;
      for (const { id } of beside) expect(overlap(box, boxes.get(id) ?? box), `${element.id} and ${id}`).toBe(false);
    }
  });

  test("a process of thousands of elements in circles is placed", () => {
    const nodes: GraphNode[] = Array.from({ length: 3_000 }, (_, i) => ({ id: `n${i}`, type: "exclusiveGateway" }));
    const connections = nodes.flatMap(({ id }, i) => [
      { source: id, target: `n${(i + 1) % nodes.length}`, condition: "a" },
      { source: id, target: `n${(i * 7) % nodes.length}`, isDefault: true },
    ]);
    const start = { source: "s", target: "n0" };
    const process = readGraph({
      id: "g",
      nodes: [{ id: "s", type: "startEvent" }, ...nodes],
      connections: [start, ...connections],
    });
    expect(layoutOf(process).boxes.size).toBe(3_001);
  });
});

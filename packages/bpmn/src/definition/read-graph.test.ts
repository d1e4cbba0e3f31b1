import { describe, expect, test } from "vitest";
import { MachineBench } from "../testing/machine-bench.ts";
import { problemsOf } from "./problem.ts";
import { type Graph, type GraphConnection, type GraphNode, readGraph } from "./read-graph.ts";

const START: GraphNode = { id: "s", type: "startProcess" };
const END: GraphNode = { id: "e", type: "endProcess" };

/** A graph with start and end. Connections are written as `a -> b`. */
function graphOf(nodes: readonly GraphNode[], text: string, rest: Partial<Graph> = {}): Graph {
  const connections = text.split(", ").map((each): GraphConnection => {
    const [source = "", target = ""] = each.split(" -> ");
    return { source, target };
  });
  const ends = text.includes("-> e") ? [END] : [];
  return { id: "g", nodes: [START, ...nodes, ...ends], connections, ...rest };
}

function bench(...graph: Parameters<typeof graphOf>): MachineBench {
  return new MachineBench(readGraph(graphOf(...graph)));
}

function problems(...graph: Parameters<typeof graphOf>): readonly string[] {
  try {
    readGraph(graphOf(...graph));
    return [];
  } catch (error) {
    return problemsOf(error).map(({ element, text }) => `${element}: ${text}`);
  }
}

describe("events of JSON graphs", () => {
  test("an event-based gateway of a graph continues at the first of its events", () => {
    const nodes: GraphNode[] = [
      { id: "g1", type: "eventBasedGateway" },
      { id: "m", type: "intermediateCatchEvent", data: { message: { name: "paid", key: "=id" } } },
      { id: "t", type: "intermediateCatchEvent", data: { timer: { duration: "PT1H" } } },
      { id: "late", type: "userTask" },
    ];
    const one = bench(nodes, "s -> g1, g1 -> m, g1 -> t, m -> e, t -> late, late -> e");
    one.start({ id: "o-1" });
    expect(one.state.commands).toMatchObject([
      { kind: "message", name: "paid", key: "o-1" },
      { kind: "timer", dueAt: one.at + 3_600_000 },
    ]);
    expect(one.comes("t").active).toEqual(["late"]);
  });

  test("signals, conditions, links, escalations and terminate work in a graph", () => {
    const nodes: GraphNode[] = [
      { id: "split", type: "parallelGateway" },
      { id: "sig", type: "intermediateCatchEvent", data: { signal: "go" } },
      { id: "cond", type: "intermediateCatchEvent", data: { condition: "n > 1" } },
      { id: "to", type: "intermediateThrowEvent", data: { link: "L" } },
      { id: "from", type: "intermediateCatchEvent", data: { link: "L" } },
      { id: "u", type: "userTask" },
      { id: "stop", type: "endEvent", data: { terminate: true } },
      { id: "up", type: "intermediateThrowEvent", data: { escalation: "high" } },
    ];
    const flow = "s -> split, split -> sig, split -> cond, sig -> to, cond -> up, up -> e, from -> u, u -> stop";
    const one = bench(nodes, flow).start({ n: 1 });
    expect(one.active).toEqual(["cond", "sig"]);
    expect(one.comes("sig").active).toEqual(["cond", "u"]);
    one.happens({ kind: "setVariables", row: null, variables: { n: 2 } });
    expect(one.issued.find(({ kind }) => kind === "escalate")).toMatchObject({ code: "high" });
    expect(one.done("u").ending).toMatchObject({ kind: "completed" });
  });

  test("boundary events of a graph catch errors by code, and leave a non-interrupted activity running", () => {
    const nodes: GraphNode[] = [
      { id: "a", type: "serviceTask" },
      { id: "no", type: "boundaryEvent", data: { attachedTo: "a", error: "NO" } },
      {
        id: "slow",
        type: "boundaryEvent",
        data: { attachedTo: "a", timer: { duration: "PT1M" }, interrupting: false },
      },
      { id: "b", type: "userTask" },
      { id: "c", type: "userTask" },
    ];
    const one = bench(nodes, "s -> a, a -> e, no -> b, slow -> c").start();
    expect(one.comes("slow").active).toEqual(["a", "c"]);
    expect(one.throws("a", "NO").active).toEqual(["b", "c"]);
  });

  test("an event with several triggers lists them", () => {
    const triggers = [{ signal: "one" }, { message: "two" }];
    const one = bench([{ id: "x", type: "intermediateCatchEvent", data: { triggers } }], "s -> x, x -> e").start();
    expect(one.state.commands.map(({ kind }) => kind)).toEqual(["signal", "message"]);
    const both = { id: "x", type: "intermediateCatchEvent", data: { signal: "one", message: "two" } };
    expect(problems([both], "s -> x, x -> e")).toEqual([
      "x: data.triggers is missing; an event with several triggers lists them there",
    ]);
  });
});

describe("activities of JSON graphs", () => {
  test("an errorBoundary catches a failure after the last retry and leads to the node that it names", () => {
    const nodes: GraphNode[] = [
      { id: "a", type: "serviceTask", data: { retry: { max: 2 }, errorBoundary: "b" } },
      { id: "b", type: "userTask" },
    ];
    const one = bench(nodes, "s -> a, a -> e, b -> e").start();
    expect(one.process.elements.get("a")).toMatchObject({ retry: { maxAttempts: 3 }, boundaries: ["a.errorBoundary"] });
    expect(one.fails("a", "down").active).toEqual(["b"]);
    expect(one.variables).toEqual({ error: { element: "a", message: "down" } });
  });

  test("a sub-process of a graph contains the nodes whose parent it is, with variables of its own", () => {
    const nodes: GraphNode[] = [
      { id: "sub", type: "subProcess", data: { inputs: { total: "=n * 2", kind: "small" }, variables: ["draft"] } },
      { id: "in", type: "startEvent", parent: "sub" },
      { id: "u", type: "userTask", parent: "sub" },
      { id: "ev", type: "eventSubProcess", parent: "sub" },
      { id: "es", type: "startEvent", parent: "ev", data: { message: "stop", interrupting: false } },
      { id: "v", type: "userTask", parent: "ev" },
    ];
    const one = bench(nodes, "s -> sub, sub -> e, in -> u, es -> v").start({ n: 2 });
    expect(one.active).toEqual(["sub", "u"]);
    expect(one.seen[0]).toEqual({ n: 2, total: 4, kind: "small", draft: null });
    expect(one.comes("es").active).toEqual(["ev", "sub", "u", "v"]);
  });

  test("a multi-instance node of a graph maps a collection, and a loop repeats while its condition is true", () => {
    const multiInstance = { collection: "items", item: "i", output: { variable: "outs", element: "r" } };
    const many = bench([{ id: "a", type: "serviceTask", data: { multiInstance } }], "s -> a, a -> e");
    many.start({ items: [1, 2] });
    expect(many.seen.map(({ i }) => i)).toEqual([1, 2]);
    many.done("a", { r: 10 }).done("a", { r: 20 });
    expect(many.ending).toMatchObject({ kind: "completed", variables: { outs: [10, 20] } });
    const loop = { condition: "n < 2", testBefore: true };
    const again = bench([{ id: "a", type: "serviceTask", data: { loop } }], "s -> a, a -> e").start({ n: 1 });
    expect(again.done("a", { n: 2 }).ending).toMatchObject({ kind: "completed" });
  });

  test("send, receive, call and compensation work in a graph", () => {
    const nodes: GraphNode[] = [
      { id: "pay", type: "serviceTask", data: { compensatedBy: "refund" } },
      { id: "refund", type: "serviceTask" },
      { id: "ask", type: "sendTask", data: { message: "asked" } },
      { id: "hear", type: "receiveTask", data: { message: { name: `heard-$\{id}`, key: "=id" } } },
      { id: "sub", type: "callActivity", data: { calledElement: "=child", version: 2, outputs: { got: "=answer" } } },
      { id: "undo", type: "intermediateThrowEvent", data: { compensation: "pay" } },
    ];
    const one = bench(nodes, "s -> pay, pay -> ask, ask -> hear, hear -> sub, sub -> undo, undo -> e");
    one.start({ id: 7, child: "other" }).done("pay");
    expect(one.issued.filter(({ kind }) => kind === "publish")).toMatchObject([{ name: "asked" }]);
    expect(one.state.commands).toMatchObject([{ kind: "message", name: "heard-7", key: "7" }]);
    one.comes("hear");
    expect(one.state.commands).toMatchObject([{ kind: "call", called: "other", version: 2 }]);
    one.done("sub", { answer: 42 });
    expect(one.open("work")).toEqual(["refund/work"]);
    expect(one.done("refund").ending).toMatchObject({ variables: { got: 42 } });
  });
});

describe("wrong JSON graphs", () => {
  const task = (data: Record<string, unknown>): Parameters<typeof graphOf> => [
    [{ id: "a", type: "serviceTask", data }],
    "s -> a, a -> e",
  ];

  test.each([
    [{ retry: { max: -1 } }, "a: data.retry.max must be a number of at least 0"],
    [{ retry: { maximum: 1, max: 1 } }, "a: data.retry.maximum is unknown; use max, backoff, initialMs, maxMs, jitter"],
    [{ multiInstance: {} }, "a: data.multiInstance has no number of instances; add a cardinality or a collection"],
    [{ inputs: "x" }, "a: data.inputs must be an object from variable to expression, or a list of mappings"],
    [{ inputs: [{ source: "=1" }] }, "a: data.inputs has a mapping without source or target"],
    [{ errorBoundary: true }, "a: data.errorBoundary must be the id of a node of the graph"],
    [{ compensatedBy: "zz" }, "a: data.compensatedBy must be the id of a node of the graph"],
    [{ properties: 5 }, "a: data.properties must be an object"],
    [{ startQuantity: 0 }, "a: data.startQuantity must be a number of at least 1"],
    [
      { loop: {}, multiInstance: { cardinality: 2 } },
      "a: data.loop cannot be combined with multiInstance; remove one of them",
    ],
  ])("the data %j of a task is a problem", (data, text) => {
    expect(problems(...task(data))).toContain(text);
  });

  test.each([
    [{ timer: { seconds: 5 } }, "x: data.timer.seconds is unknown; use date, duration, cycle"],
    [
      { timer: { date: "2030-01-01T00:00:00Z", cycle: "R/PT1H" } },
      "x: data.timer must have one of date, duration, cycle",
    ],
    [{ message: {} }, "x: data.message has no name; add one"],
    [
      { error: { failure: true } },
      "x: data.error.failure is unknown; use code, failures, codeVariable, messageVariable, message",
    ],
    [{ compensation: "zz" }, "x: data.compensation names zz, which is not a node of the graph"],
    [{}, "x: the catching event has no trigger; add one"],
  ])("the data %j of an event is a problem", (data, text) => {
    expect(problems([{ id: "x", type: "intermediateCatchEvent", data }], "s -> x, x -> e")).toContain(text);
  });

  test("a parent that is no sub-process, and a node that contains itself, are problems", () => {
    const inTask: GraphNode = { id: "b", type: "task", parent: "a" };
    expect(problems([{ id: "a", type: "task" }, inTask], "s -> a, a -> e")).toContain(
      "b: its parent a is not a sub-process of the graph; correct it",
    );
    const circle: GraphNode[] = [
      { id: "x", type: "subProcess", parent: "y" },
      { id: "y", type: "subProcess", parent: "x" },
    ];
    expect(problems(circle, "s -> e")).toContain("x: the node contains itself; correct its parent");
  });

  test("a field named like one of another node type is a property of the node", () => {
    const { elements } = readGraph(graphOf(...task({ message: "hello", signal: { a: 1 }, label: "A" })));
    expect(elements.get("a")).toMatchObject({ name: "A", properties: { message: "hello", signal: '{"a":1}' } });
  });
});

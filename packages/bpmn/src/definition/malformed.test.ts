import fc from "fast-check";
import { createEngine, memoryStore, PawlError } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { readDecisions } from "../dmn/read-decisions.ts";
import { type Bpmn, createBpmn } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { rewriteBpmn } from "./moddle.ts";
import { problemsOf } from "./problem.ts";
import { readBpmn } from "./read-bpmn.ts";
import { type Graph, readGraph } from "./read-graph.ts";

/** Malformed models. Every reader rejects them with a `PawlError`, whose code and text a caller can show. */

const MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL";

const VALID = documentOf(
  `<startEvent id="s"><timerEventDefinition><timeCycle>R/PT1H</timeCycle></timerEventDefinition></startEvent>
  <userTask id="u"><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></userTask>
  <boundaryEvent id="b" attachedToRef="u"><messageEventDefinition messageRef="m"/></boundaryEvent><endEvent id="e"/>
  ${flows("s -> u\nu -[a > 1]-> e")}`,
  '<message id="m" name="paid"/>',
);

const GRAPH: Graph = {
  id: "g",
  nodes: [
    { id: "s", type: "startProcess" },
    { id: "t", type: "serviceTask", data: { handler: "h", serviceConfig: { url: "https://x", headers: { a: "b" } } } },
    { id: "e", type: "endProcess" },
  ],
  connections: [
    { source: "s", target: "t" },
    { source: "t", target: "e", condition: "a > 1" },
  ],
};

/** The roots and texts that have no valid process. */
const MALFORMED: ReadonlyArray<readonly [string, unknown, string]> = [
  ["an empty text", "", "XML_INVALID"],
  ["blanks", " \n", "XML_INVALID"],
  ["a text without elements", "foo", "XML_INVALID"],
  ["no bytes", new Uint8Array(0), "XML_INVALID"],
  ["only a byte order mark", new Uint8Array([0xff, 0xfe]), "XML_INVALID"],
  ["binary data", new Uint8Array([0x50, 0x4b, 0x03, 0x04, 0, 0, 0xff]), "XML_INVALID"],
  ["a document type", `<!DOCTYPE definitions><definitions xmlns="${MODEL}"/>`, "XML_INVALID"],
  ["an element that is cut off", VALID.slice(0, -5), "XML_INVALID"],
  ["an element of another language", "<foo/>", "MODEL_INVALID"],
  ["definitions without a namespace", "<definitions/>", "MODEL_INVALID"],
  ["definitions of another namespace", '<definitions xmlns="http://x"/>', "MODEL_INVALID"],
  ["another root element of the namespace", `<process xmlns="${MODEL}" id="p" isExecutable="true"/>`, "MODEL_INVALID"],
  ["an unknown root element of the namespace", `<b:x xmlns:b="${MODEL}"/>`, "MODEL_INVALID"],
  ["definitions without a process", `<definitions xmlns="${MODEL}"/>`, "MODEL_INVALID"],
];

/** Values that untyped code may pass. */
const NO_DOCUMENTS: readonly unknown[] = [null, undefined, 5, true, {}, [], [null], 5n, Symbol("x"), () => undefined];

async function codeOf(read: () => unknown): Promise<string> {
  try {
    await read();
  } catch (error) {
    if (error instanceof PawlError) return error.code;
    throw error;
  }
  return "read";
}

async function bpmnOf(): Promise<Bpmn> {
  const engine = await createEngine({ store: memoryStore(), log: () => undefined });
  onTestFinished(() => engine.shutdown());
  return await createBpmn({ engine });
}

/** Damages a text at a few places: cuts, copies, and inserts of markup. */
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(40),
  from: fc.double({ min: 0, max: 1, noNaN: true }),
  insert: fc.constantFrom(
    "",
    "<",
    "/>",
    ">",
    "</",
    '"',
    "&",
    "<!--",
    "<![CDATA[",
    "]]>",
    "\0",
    "\uFEFF",
    "x:",
    "\ud800",
  ),
  kind: fc.constantFrom("cut", "end", "copy", "insert", "name"),
});

function damaged(
  text: string,
  damages: readonly (typeof damage extends fc.Arbitrary<infer Each> ? Each : never)[],
): string {
  return damages.reduce((before, { at, length, from, insert, kind }) => {
    const place = Math.floor(at * before.length);
    const source = Math.floor(from * before.length);
    if (kind === "end") return before.slice(0, place);
    if (kind === "cut") return before.slice(0, place) + before.slice(place + length);
    if (kind === "copy") return before.slice(0, place) + before.slice(source, source + length) + before.slice(place);
    if (kind === "insert") return before.slice(0, place) + insert + before.slice(place);
    const names = [...before.matchAll(/[A-Za-z]{3,}/g)];
    const [found, other] = [names[Math.floor(at * names.length)], names[Math.floor(from * names.length)]];
    if (found === undefined || other === undefined) return before;
    return before.slice(0, found.index) + other[0] + before.slice(found.index + found[0].length);
  }, text);
}

describe("malformed documents", () => {
  test.each(MALFORMED)("a malformed document cannot be deployed: %s", async (_, source, code) => {
    const bpmn = await bpmnOf();
    expect(await codeOf(() => bpmn.deploy(source as string))).toBe(code);
    expect(await codeOf(() => readBpmn(source as string))).toBe(code);
    expect(await codeOf(() => readDecisions(source as string))).not.toBe("read");
  });

  test("the error of a document in another language names its root element and the cure", async () => {
    const error: unknown = await (await bpmnOf()).deploy("\n<foo/>").catch((reason: unknown) => reason);
    expect(problemsOf(error)).toEqual([
      {
        element: null,
        line: 2,
        text: `the root element is <foo> of no namespace; it must be <definitions> of namespace ${MODEL}`,
      },
    ]);
    expect((error as Error).message).toContain("<foo>");
  });

  test("a value that is neither a document nor a graph cannot be deployed", async () => {
    const bpmn = await bpmnOf();
    for (const value of NO_DOCUMENTS) {
      expect(await codeOf(() => bpmn.deploy(value as string))).toBe("MODEL_INVALID");
      expect(await codeOf(() => readBpmn(value as string))).toBe("XML_INVALID");
      expect(await codeOf(() => rewriteBpmn(value as string))).toBe("XML_INVALID");
    }
    for (const value of [null, undefined, 5, {}, [null]])
      expect(await codeOf(() => readDecisions(value as string))).toBe("XML_INVALID");
  });

  test("a document that is damaged at random places is read, or rejected with a typed error", async () => {
    const read = async (source: string | Uint8Array): Promise<void> => {
      await codeOf(() => readBpmn(source));
      await codeOf(() => rewriteBpmn(source));
      await codeOf(() => readDecisions(source));
    };
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 4 }), (damages) => read(damaged(VALID, damages))),
      { numRuns: 1_000 },
    );
    await fc.assert(fc.asyncProperty(fc.uint8Array(), read), { numRuns: 300 });
  });
});

describe("malformed graphs", () => {
  test("a graph that is no plain JSON cannot be deployed", async () => {
    const bpmn = await bpmnOf();
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const data of [{ handler: "h", at: 5n }, circular]) {
      const [start, task, end] = GRAPH.nodes as [Graph["nodes"][0], Graph["nodes"][0], Graph["nodes"][0]];
      const graph = { ...GRAPH, nodes: [start, { ...task, data }, end] };
      expect(await codeOf(() => bpmn.deploy(graph))).toBe("MODEL_INVALID");
    }
  });

  test.each(["constructor", "__proto__", "toString"])("a node of type %s is unknown", (type) => {
    expect(() => readGraph({ ...GRAPH, nodes: [...GRAPH.nodes, { id: "n", type }] })).toThrow(
      `unknown node type ${type}`,
    );
  });

  test("a graph with any value in the place of a field is read, or rejected with a typed error", async () => {
    const anything = fc.oneof(fc.anything({ maxDepth: 1 }), fc.constantFrom(null, 0, "", "=(", "a", [], {}));
    const paths = pathsOf(GRAPH);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), anything, async (path, value) => {
        await codeOf(() => readGraph(withValue(GRAPH, path, value)));
      }),
      { numRuns: 2_000 },
    );
  });
});

type Path = readonly (string | number)[];

function pathsOf(value: unknown): Path[] {
  if (typeof value !== "object" || value === null) return [[]];
  const inside = Object.entries(value).flatMap(([name, each]) => pathsOf(each).map((path) => [name, ...path]));
  return [[], ...inside];
}

/** A copy of the graph with another value at the path. */
function withValue(graph: unknown, path: Path, value: unknown): Graph {
  const [name, ...rest] = path;
  if (name === undefined) return value as Graph;
  const copy = (Array.isArray(graph) ? [...graph] : { ...(graph as object) }) as Record<string | number, unknown>;
  copy[name] = withValue(copy[name], rest, value);
  return copy as unknown as Graph;
}

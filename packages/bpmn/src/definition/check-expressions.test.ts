import { createEngine, declareWorkflow, memoryStore } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bpmn, createBpmn } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { problemsOf } from "./problem.ts";

/** Expressions that a deployment rejects. */

const juel = (text: string): string => `$\{${text}}`;

async function opened() {
  const engine = await createEngine({ store: memoryStore(), log: () => undefined });
  onTestFinished(() => engine.shutdown());
  return { engine, bpmn: await createBpmn({ engine }) };
}

const conditional = (condition: string, attributes = ""): string =>
  documentOf(
    `<startEvent id="s"/><exclusiveGateway id="g" default="d"/><endEvent id="e"/>
     <sequenceFlow id="c" sourceRef="g" targetRef="e"><conditionExpression xsi:type="tFormalExpression" ${attributes}>${condition}</conditionExpression></sequenceFlow>
     <sequenceFlow id="d" sourceRef="g" targetRef="e"/>${flows("s -> g")}`,
  );

async function problemsIn(source: Parameters<Bpmn["deploy"]>[0]) {
  const { bpmn } = await opened();
  return problemsOf(await bpmn.deploy(source).catch((error: unknown) => error));
}

describe("expressions of a deployed model", () => {
  test.each([
    [
      "approved == true",
      "expected a name at character 11, “= true”; FEEL compares with = and !=, and connects with and, or and not(…)",
    ],
    ["1 +", "expected a name at the end"],
    ["foo(", "expected a name at the end"],
    ["if x then 1", "expected else at the end"],
    ["net price &gt; 1", "unexpected text at character 5, “price > 1”; write a name of several words in backticks"],
    ["discount(price)", "calls discount, which is not a function; correct the name"],
    [juel("a &gt; "), "unexpected end"],
  ])("a condition that is not an expression is a problem, with its place: %s", async (condition, text) => {
    expect(await problemsIn(conditional(condition))).toMatchObject([
      { element: "c", line: 7, text: expect.stringContaining(text) },
    ]);
  });

  test.each([
    "`net price` &gt; 1",
    juel("a &gt; 1"),
    "=a &gt; 1",
    "count(items) &gt; 1 and every i in items satisfies i &gt; 1",
  ])("a condition that is an expression is deployed: %s", async (condition) => {
    expect(await problemsIn(conditional(condition))).toEqual([]);
  });

  test("all problems of all processes are reported at once, structure and expressions alike", async () => {
    const inside = (
      id: string,
    ) => `<startEvent id="${id}s"/><userTask id="${id}u" pawl:assignee="=1 +" pawl:dueDate="soon"/>
      <boundaryEvent id="${id}t" attachedToRef="${id}u"><timerEventDefinition><timeDuration>=duration(</timeDuration></timerEventDefinition></boundaryEvent>
      <scriptTask id="${id}f" pawl:resultVariable="r"><extensionElements><pawl:script expression="=2 *"/><pawl:ioMapping><pawl:input source="=a b" target="x"/></pawl:ioMapping></extensionElements></scriptTask>
      ${flows(`${id}s -> ${id}u\n${id}u -> ${id}f`)}<sequenceFlow id="${id}x" sourceRef="${id}f" targetRef="gone"/>`;
    const second = `<process id="q" isExecutable="true">${inside("q")}</process>`;
    const found = await problemsIn(documentOf(inside("p"), second));
    expect(found.map(({ element }) => element).sort()).toEqual(
      ["p", "q"].flatMap((id) => [`${id}f`, `${id}f`, `${id}t`, `${id}u`, `${id}u`, `${id}x`, `${id}x`]).sort(),
    );
  });

  test("the language of an expression is honoured if it is FEEL or JUEL, and otherwise a problem", async () => {
    for (const language of [
      "feel",
      "https://www.omg.org/spec/DMN/20191111/FEEL/",
      "http://www.omg.org/spec/FEEL/20140401",
    ])
      expect(await problemsIn(conditional("a &gt; 1", `language="${language}"`))).toEqual([]);
    expect(await problemsIn(conditional(juel("a &gt; 1"), 'language="juel"'))).toEqual([]);
    for (const [text, language] of [
      ["a &gt; 1", "groovy"],
      [juel("a"), "feel"],
      ["a/b", "http://www.w3.org/1999/XPath"],
    ] as const)
      expect(await problemsIn(conditional(text, `language="${language}"`))).toMatchObject([
        { element: "c", text: expect.stringContaining(`is in ${language}, which is not supported; write it in FEEL`) },
      ]);
  });

  test("the expression language of a document counts for its expressions that do not mark their own", async () => {
    const inGroovy = (condition: string) =>
      conditional(condition).replace("<definitions ", '<definitions expressionLanguage="http://groovy.codehaus.org/" ');
    expect(await problemsIn(inGroovy("a.size() &gt; 1"))).toMatchObject([{ element: "c" }]);
    expect(await problemsIn(inGroovy("=a &gt; 1"))).toEqual([]);
    expect(await problemsIn(inGroovy(juel("a &gt; 1")))).toEqual([]);
    const inXPath = conditional("a &gt; 1").replace(
      "<definitions ",
      '<definitions expressionLanguage="http://www.w3.org/1999/XPath" ',
    );
    expect(await problemsIn(inXPath)).toEqual([]);
  });

  test("a name of several words that the model declares needs no backticks", async () => {
    const model = documentOf(
      `<startEvent id="s"/><serviceTask id="a" pawl:resultVariable="net price"/><endEvent id="e"/>${flows("s -> a\na -[net price > 1]-> e")}`,
    );
    expect(await problemsIn(model)).toEqual([]);
  });

  test("a condition of a graph that is not an expression is a problem", async () => {
    const nodes = [
      { id: "s", type: "startProcess" },
      { id: "e", type: "endProcess" },
    ];
    const connections = [{ id: "c", source: "s", target: "e", condition: "a == 1" }];
    expect(await problemsIn({ id: "g", nodes, connections })).toMatchObject([{ element: "c" }]);
  });

  test("a stored model that a later release would reject still loads, and its runs start", async () => {
    const { engine, bpmn } = await opened();
    await bpmn.deploy(conditional("a &gt; 1"));
    const [stored] = (await engine.list({ workflow: "bpmn definition" })).items;
    const definition = stored?.input as { readonly source: { readonly kind: string } };
    const source = { ...definition.source, text: conditional("a == 1") };
    await engine.start(
      declareWorkflow<object>("bpmn definition"),
      { ...definition, version: 2, source },
      { id: "bpmn p 2" },
    );
    await bpmn.refresh();
    const run = await bpmn.start("p", { a: 1 }, { version: 2 });
    expect(await run.status()).not.toBe("failed");
  });
});

import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { inspectDecisions, readDecisions } from "./read-decisions.ts";

const definitions = (body: string, namespace = "urn:test"): string =>
  `<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="test" namespace="${namespace}">${body}</definitions>`;

const input = (name: string, type = ""): string =>
  `<inputData id="${name}" name="${name}"><variable name="${name}" ${type === "" ? "" : `typeRef="${type}"`}/></inputData>`;
const needs = (...names: readonly string[]): string =>
  names.map((name) => `<informationRequirement><requiredInput href="#${name}"/></informationRequirement>`).join("");
const literal = (text: string): string =>
  `<literalExpression><text>${text.replace(/</g, "&lt;")}</text></literalExpression>`;
const decision = (name: string, body: string, type = ""): string =>
  `<decision id="${name}" name="${name}"><variable name="${name}" ${type === "" ? "" : `typeRef="${type}"`}/>${body}</decision>`;

/** A table over one number `n`: rules as `test → result`. */
function table(policy: string, rules: readonly (readonly [string, string])[], extra = ""): string {
  const rows = rules.map(
    ([test, result]) =>
      `<rule><inputEntry><text>${test.replace(/</g, "&lt;")}</text></inputEntry><outputEntry><text>${result}</text></outputEntry></rule>`,
  );
  const body = `<decisionTable ${policy}><input><inputExpression><text>n</text></inputExpression></input><output>${extra}</output>${rows.join("")}</decisionTable>`;
  return definitions(input("n") + decision("d", needs("n") + body));
}
const OVERLAPPING = [
  ["> 1", '"low"'],
  ["> 5", '"high"'],
  ["> 10", '"low"'],
] as const;
const VALUES = '<outputValues><text>"high", "low"</text></outputValues>';

describe("a decision table", () => {
  test.each<[string, readonly (readonly [string, string])[], string, readonly unknown[]]>([
    ['hitPolicy="UNIQUE"', OVERLAPPING, "", [null, "low", null, null]],
    ['hitPolicy="ANY"', OVERLAPPING, "", [null, "low", null, null]],
    ['hitPolicy="FIRST"', OVERLAPPING, "", [null, "low", "low", "low"]],
    ['hitPolicy="PRIORITY"', OVERLAPPING, VALUES, [null, "low", "high", "high"]],
    ['hitPolicy="RULE ORDER"', OVERLAPPING, "", [null, ["low"], ["low", "high"], ["low", "high", "low"]]],
    ['hitPolicy="OUTPUT ORDER"', OVERLAPPING, VALUES, [null, ["low"], ["high", "low"], ["high", "low", "low"]]],
    ['hitPolicy="COLLECT"', OVERLAPPING, "", [null, ["low"], ["low", "high"], ["low", "high", "low"]]],
    ['hitPolicy="COLLECT" aggregation="COUNT"', OVERLAPPING, "", [0, 1, 2, 3]],
    [
      'hitPolicy="COLLECT" aggregation="SUM"',
      [
        ["> 1", "1"],
        ["> 5", "20"],
        ["> 10", "300"],
      ],
      "",
      [null, 1, 21, 321],
    ],
    [
      'hitPolicy="COLLECT" aggregation="MAX"',
      [
        ["> 1", "5"],
        ["> 5", "20"],
        ["> 10", "3"],
      ],
      "",
      [null, 5, 20, 20],
    ],
    [
      'hitPolicy="COLLECT" aggregation="MIN"',
      [
        ["> 1", "5"],
        ["> 5", "20"],
        ["> 10", "3"],
      ],
      "",
      [null, 5, 5, 3],
    ],
    [
      'hitPolicy="UNIQUE"',
      [["> 5", '"x"']],
      '<defaultOutputEntry><text>"none"</text></defaultOutputEntry>',
      ["none", "none", "x", "x"],
    ],
  ])("%s", (policy, rules, extra, expected) => {
    const model = readDecisions(table(policy, rules, extra));
    expect([1, 3, 7, 11].map((n) => decide(model, "d", { n }).value)).toEqual(expected);
  });

  test("a decision table with several outputs returns a context", () => {
    const body = `<decisionTable><input><inputExpression><text>n</text></inputExpression></input><output name="a"/><output name="b c"/>
      <rule><inputEntry><text>-</text></inputEntry><outputEntry><text>n</text></outputEntry><outputEntry><text>n + 1</text></outputEntry></rule></decisionTable>`;
    expect(
      decide(readDecisions(definitions(input("n") + decision("d", needs("n") + body))), "d", { n: 1 }).value,
    ).toEqual({ a: 1, "b c": 2 });
  });
});

describe("a decision graph", () => {
  const graph = definitions(
    input("order date", "date") +
      decision("due", `${needs("order date")}${literal('order date + duration("P14D")')}`, "date") +
      decision(
        "text",
        `<informationRequirement><requiredDecision href="#due"/></informationRequirement>${literal('"due " + string(due)')}`,
      ),
  );

  test("a decision evaluates its requirements first and converts text inputs to dates", () => {
    expect(decide(readDecisions(graph), "text", { "order date": "2026-03-20" }).value).toBe("due 2026-04-03");
    expect(decide(readDecisions(graph), "due", { "order date": "2026-03-20" }).value).toBe("2026-04-03");
  });

  test("an input of the wrong type is null, with a warning", () => {
    const { value, warnings } = decide(readDecisions(graph), "due", { "order date": 5 });
    expect([value, warnings]).toEqual([
      null,
      expect.arrayContaining(["input order date does not have its declared type"]),
    ]);
  });

  test("a knowledge model may call itself within the budget", () => {
    const bkm = (body: string) =>
      `<businessKnowledgeModel id="f" name="f"><variable name="f"/><encapsulatedLogic><formalParameter name="n" typeRef="number"/>${literal(body)}</encapsulatedLogic><knowledgeRequirement><requiredKnowledge href="#f"/></knowledgeRequirement></businessKnowledgeModel>`;
    const asking = (body: string) =>
      definitions(
        bkm(body) +
          decision(
            "d",
            `<knowledgeRequirement><requiredKnowledge href="#f"/></knowledgeRequirement>${literal("f(10)")}`,
          ),
      );
    expect(decide(readDecisions(asking("if n < 2 then 1 else n * f(n - 1)")), "d", {}).value).toBe(3_628_800);
    expect(() => decide(readDecisions(asking("f(n)")), "d", {})).toThrow(
      expect.objectContaining({ code: "EXPRESSION_LIMIT" }),
    );
  });

  test("a decision service sees only its inputs", () => {
    const model = readDecisions(
      definitions(
        input("a") +
          decision("b", `${needs("a")}${literal("a * 2")}`) +
          decision(
            "c",
            `<informationRequirement><requiredDecision href="#b"/></informationRequirement>${literal("b + 1")}`,
          ) +
          '<decisionService id="s" name="s"><variable name="s"/><outputDecision href="#c"/><inputDecision href="#b"/></decisionService>',
      ),
    );
    expect(decide(model, "s", { b: 10, a: 1 }).value).toBe(11);
    expect(decide(model, "c", { a: 1 }).value).toBe(3);
  });

  test("another model is imported by its namespace", () => {
    const other = definitions(
      `<itemDefinition name="tAge"><typeRef>number</typeRef><allowedValues><text>[0..150]</text></allowedValues></itemDefinition>${decision("base", literal("41"))}`,
      "urn:other",
    );
    const main = definitions(
      `<import namespace="urn:other" name="other" importType="x"/>${decision("d", `<informationRequirement><requiredDecision href="urn:other#base"/></informationRequirement>${literal("other.base + 1")}`, "other.tAge")}`,
    );
    expect(decide(readDecisions([main, other]), "d", {}).value).toBe(42);
  });
});

describe("free names", () => {
  /** A table as modelers write it: its inputs are not declared as input data. */
  const free = `<decision id="dish" name="Dish"><decisionTable hitPolicy="FIRST">
    <input><inputExpression typeRef="string"><text>season</text></inputExpression></input><output name="dish"/>
    <rule><inputEntry><text>"Winter"</text></inputEntry><outputEntry><text>if guests > 8 then "Stew" else "Roast"</text></outputEntry></rule>
    </decisionTable></decision>`;

  test("a name that the model does not declare is a variable of the caller", () => {
    const model = readDecisions(definitions(free));
    expect(decide(model, "dish", { season: "Winter", guests: 4 })).toEqual({ value: "Roast", warnings: [] });
    expect(decide(model, "dish", { season: "Winter", guests: 9 }).value).toBe("Stew");
  });

  test("a name that neither the model nor the caller has is null, with a warning", () => {
    const { value, warnings } = decide(readDecisions(definitions(free)), "dish", { guests: 4 });
    expect([value, warnings]).toEqual([null, expect.arrayContaining(["variable season not found"])]);
  });

  test("a variable does not hide the built-in function of the same name", () => {
    const model = readDecisions(definitions(decision("d", literal("count([count, 2])"))));
    expect(decide(model, "d", { count: 1 }).value).toBe(2);
  });

  test("a decision does not need a variable that it only tests for its existence", () => {
    const model = readDecisions(definitions(decision("d", literal("[is defined(x), get or else(y, 5), z = null]"))));
    expect(decide(model, "d", {})).toEqual({ value: [false, 5, true], warnings: [] });
  });

  test("the number types of Camunda 7 are numbers, and a type that is not defined is a problem", () => {
    const typed = (type: string) => definitions(input("n", type) + decision("d", needs("n") + literal("n + 1"), type));
    for (const type of ["integer", "long", "double"])
      expect(decide(readDecisions(typed(type)), "d", { n: 1 }).value).toBe(2);
    expect(inspectDecisions(typed("tAge")).problems).toMatchObject([
      { element: "n", text: "type tAge is not defined; add an itemDefinition, or use a type of FEEL" },
      { element: "d" },
    ]);
  });

  test("a call of a function that nothing defines is a problem", () => {
    const { problems } = inspectDecisions(
      definitions(decision("d", literal("discount(price) + (function(f) f(1))(sum)"))),
    );
    expect(problems.map(({ text }) => text)).toEqual([
      "expression “discount(price) + (function(f) f(1))(sum)” calls discount, which is not a function; correct the name",
    ]);
  });
});

test("instance of ignores the allowed values of a type, and declared types do not", () => {
  const type =
    '<itemDefinition name="tByte"><typeRef>number</typeRef><allowedValues><text>[0..255]</text></allowedValues></itemDefinition>';
  const model = readDecisions(
    definitions(
      type +
        decision("a", literal('[256 instance of tByte, "x" instance of tByte]')) +
        decision("b", literal("256"), "tByte"),
    ),
  );
  expect(decide(model, "a", {}).value).toEqual([true, false]);
  expect(decide(model, "b", {}).value).toBe(null);
});

describe("problems of a model", () => {
  test("a model is rejected with all its problems, each with element and line", () => {
    const broken = definitions(
      `${decision("a", `<informationRequirement><requiredDecision href="#b"/></informationRequirement>${literal("1 +")}`)}\n${decision("b", `<informationRequirement><requiredDecision href="#a"/></informationRequirement>${literal("(")}`)}\n${decision("c", needs("gone") + literal("1"))}`,
    );
    const { problems } = inspectDecisions(broken);
    expect(problems.map(({ element, line }) => `${element}:${line}`).sort()).toEqual([
      "a:1",
      "c:3",
      "literalExpression:1",
      "literalExpression:2",
    ]);
    expect(() => readDecisions(broken)).toThrow(expect.objectContaining({ code: "DECISION_INVALID" }));
  });

  test.each([
    ["two elements of one id", definitions(decision("a", literal("1")) + decision("a", literal("2")))],
    ["an unknown hit policy", table('hitPolicy="MOST"', OVERLAPPING)],
    [
      "a rule with too few cells",
      definitions(
        decision(
          "d",
          "<decisionTable><input><inputExpression><text>1</text></inputExpression></input><output/><rule><outputEntry><text>1</text></outputEntry></rule></decisionTable>",
        ),
      ),
    ],
    [
      "a reference without #",
      definitions(
        decision("d", `<informationRequirement><requiredInput href="x"/></informationRequirement>${literal("1")}`),
      ),
    ],
    [
      "a model that is not imported",
      definitions(
        decision(
          "d",
          `<informationRequirement><requiredInput href="urn:x#y"/></informationRequirement>${literal("1")}`,
        ),
      ),
    ],
    ["another document", "<a/>"],
  ])("%s is a problem", (_, source) => {
    expect(() => readDecisions(source)).toThrow(expect.objectContaining({ code: "DECISION_INVALID" }));
  });

  test("the error for an unknown decision lists the decisions of the model", () => {
    const model = readDecisions(definitions(decision("a", literal("1"))));
    expect(() => decide(model, "b", {})).toThrow("model test has no decision b; it has a");
  });
});

test("models of DMN 1.1 to 1.5 are read", () => {
  for (const namespace of [
    "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
    "http://www.omg.org/spec/DMN/20180521/MODEL/",
    "https://www.omg.org/spec/DMN/20191111/MODEL/",
    "https://www.omg.org/spec/DMN/20211108/MODEL/",
    "https://www.omg.org/spec/DMN/20230324/MODEL/",
  ]) {
    const source = `<definitions xmlns="${namespace}" name="m" namespace="urn:m">${decision("d", literal("1 + 1"))}</definitions>`;
    expect(decide(readDecisions(source), "d", {}).value).toBe(2);
  }
});

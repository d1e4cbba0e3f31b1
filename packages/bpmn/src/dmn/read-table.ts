import type { XmlElement } from "../xml/xml-element.ts";
import type { Aggregation, DecisionTable, HitPolicy, TableInput, TableOutput, TableRule } from "./decision-table.ts";
import { childOf, childrenOf, type SourceReader, textIn } from "./read-source.ts";

const POLICIES: Readonly<Record<string, HitPolicy>> = {
  UNIQUE: "unique",
  ANY: "any",
  PRIORITY: "priority",
  FIRST: "first",
  "RULE ORDER": "rule order",
  "OUTPUT ORDER": "output order",
  COLLECT: "collect",
};
const AGGREGATIONS: Readonly<Record<string, Aggregation>> = { SUM: "sum", COUNT: "count", MIN: "min", MAX: "max" };

export function readTable(reader: SourceReader, element: XmlElement): DecisionTable {
  const policyText = element.attributes.get("hitPolicy") ?? "UNIQUE";
  const policy = Object.hasOwn(POLICIES, policyText) ? POLICIES[policyText] : undefined;
  if (policy === undefined) reader.problem(element, `unknown hit policy ${policyText}`);
  const aggregationText = element.attributes.get("aggregation");
  const aggregation = aggregationText === undefined ? undefined : AGGREGATIONS[aggregationText];
  if (aggregationText !== undefined && aggregation === undefined) {
    reader.problem(element, `unknown aggregation ${aggregationText}`);
  }
  const inputs = childrenOf(element, "input").map((input) => inputOf(reader, input));
  const outputs = childrenOf(element, "output").map((output) => outputOf(reader, output));
  if (outputs.length === 0) reader.problem(element, "the decision table has no output");
  const sizes = { inputs: inputs.length, outputs: outputs.length };
  const rules = childrenOf(element, "rule").map((rule) => ruleOf(reader, rule, sizes));
  return { policy: policy ?? "unique", aggregation: aggregation ?? null, inputs, outputs, rules };
}

function inputOf(reader: SourceReader, element: XmlElement): TableInput {
  const expression = childOf(element, "inputExpression");
  const text = textIn(expression);
  const values = textIn(childOf(element, "inputValues"));
  if (expression === undefined || text === undefined) reader.problem(element, "the input has no expression");
  return {
    expression: reader.expression(element, text ?? "null"),
    type: reader.type(element, expression?.attributes.get("typeRef")),
    values: values === undefined || values.trim() === "" ? null : reader.unaryTests(element, values),
  };
}

function outputOf(reader: SourceReader, element: XmlElement): TableOutput {
  const values = textIn(childOf(element, "outputValues"));
  const otherwise = textIn(childOf(element, "defaultOutputEntry"));
  return {
    name: element.attributes.get("name") ?? "",
    type: reader.type(element, element.attributes.get("typeRef")),
    values: values === undefined || values.trim() === "" ? null : reader.unaryTests(element, values),
    otherwise: otherwise === undefined || otherwise.trim() === "" ? null : reader.expression(element, otherwise),
  };
}

function ruleOf(reader: SourceReader, element: XmlElement, sizes: { inputs: number; outputs: number }): TableRule {
  const tests = childrenOf(element, "inputEntry");
  const results = childrenOf(element, "outputEntry");
  if (tests.length !== sizes.inputs || results.length !== sizes.outputs) {
    reader.problem(
      element,
      `the rule has ${tests.length} input and ${results.length} output cells for ${sizes.inputs} inputs and ${sizes.outputs} outputs`,
    );
  }
  return {
    tests: tests.map((test) => reader.unaryTests(test, textIn(test) ?? "")),
    results: results.map((result) => {
      const text = textIn(result);
      return reader.expression(result, text === undefined || text.trim() === "" ? "null" : text);
    }),
  };
}

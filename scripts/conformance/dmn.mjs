import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { decide, evaluateFeel, inspectDecisions, readXml, temporal } from "@pawl/bpmn";

/**
 * Executes the test cases of the DMN TCK through the public API. The folder contains levels, a level contains suites, and a suite is a
 * model with its cases.
 *
 * @import { DecisionModel, Json, XmlElement } from "@pawl/bpmn"
 *
 * @typedef {object} Outcome
 * @property {string} level
 * @property {string} suite
 * @property {string} id
 * @property {number} results The number of expected results of the case.
 * @property {number} right The number of correct results.
 * @property {string | null} flaw Null if the case passed.
 */

const TOLERANCE = 1e-8;
const NOW = Date.UTC(2026, 0, 15, 10, 30);

/** @param {string} folder @param {readonly string[]} only Parts of suite names; an empty list selects all. @returns {readonly Outcome[]} */
export function runTck(folder, only = []) {
  return readdirSync(folder)
    .filter((level) => level.startsWith("compliance-level"))
    .sort()
    .flatMap((level) =>
      readdirSync(join(folder, level))
        .sort()
        .filter((suite) => only.length === 0 || only.some((part) => suite.includes(part)))
        .flatMap((suite) => runSuite(join(folder, level, suite), level)),
    );
}

/** @param {string} folder @param {string} level @returns {readonly Outcome[]} */
function runSuite(folder, level) {
  const files = readdirSync(folder);
  return files
    .filter((file) => file.endsWith(".xml"))
    .flatMap((file) => {
      const root = readXml(readFileSync(join(folder, file)));
      const main = childrenOf(root, "modelName")[0]?.text.trim() ?? files.find((name) => name.endsWith(".dmn")) ?? "";
      const others = files.filter((name) => name.endsWith(".dmn") && name !== main);
      const sources = [main, ...others].map((name) => readFileSync(join(folder, name)));
      const { model } = inspectDecisions(sources);
      return childrenOf(root, "testCase").flatMap((testCase) =>
        runCase(model, testCase, { level, suite: basename(folder) }),
      );
    });
}

/** @param {DecisionModel} model @param {XmlElement} testCase @param {{ level: string, suite: string }} place @returns {readonly Outcome[]} */
function runCase(model, testCase, place) {
  const id = testCase.attributes.get("id") ?? "";
  const invocable =
    testCase.attributes.get("type") === "decision" ? undefined : testCase.attributes.get("invocableName");
  const inputs = Object.fromEntries(
    childrenOf(testCase, "inputNode").map((node) => [node.attributes.get("name") ?? "", valueIn(node)]),
  );
  const nodes = childrenOf(testCase, "resultNode");
  const flaws = nodes.flatMap((node) => {
    const name = node.attributes.get("name") ?? "";
    const flaw = flawOf(model, { name, invocable, node }, inputs);
    return flaw === null ? [] : [`${name}: ${flaw}`];
  });
  const counts = { results: nodes.length, right: nodes.length - flaws.length };
  return [{ ...place, id, ...counts, flaw: flaws.length === 0 ? null : flaws.join("; ") }];
}

/**
 * @param {DecisionModel} model
 * @param {{ name: string, invocable: string | undefined, node: XmlElement }} request
 * @param {Record<string, unknown>} inputs
 * @returns {string | null}
 */
function flawOf(model, { name, invocable, node }, inputs) {
  const expected = childrenOf(node, "expected")[0];
  const isError = node.attributes.get("errorResult") === "true";
  /** @type {Json} */
  let value;
  try {
    value = decide(model, invocable ?? name, inputs, { world: { now: NOW, random: () => 0.5 } }).value;
  } catch (error) {
    return isError ? null : `threw ${error instanceof Error ? error.message : String(error)}`;
  }
  if (isError && (expected === undefined || valueIn(expected) === null)) {
    return value === null ? null : `expected an error, got ${JSON.stringify(value)}`;
  }
  const wanted = expected === undefined ? null : valueIn(expected);
  if (isSame(value, wanted)) return null;
  // A service of several decisions returns all of them; an expected result may name one.
  const part = Object.entries(typeof value === "object" && value !== null ? value : {}).find(
    ([key]) => key === name,
  )?.[1];
  if (invocable !== undefined && part !== undefined && isSame(part, wanted)) return null;
  return `expected ${evaluateFeel("string(a)", { a: wanted }).value}, got ${JSON.stringify(value)}`;
}

/** A value of the test case as a FEEL value. @param {XmlElement} element @returns {unknown} */
function valueIn(element) {
  const list = childrenOf(element, "list")[0];
  if (list !== undefined) return isNil(list) ? null : childrenOf(list, "item").map((item) => valueIn(item));
  const components = childrenOf(element, "component");
  if (components.length > 0) {
    return Object.fromEntries(components.map((part) => [part.attributes.get("name") ?? "", valueIn(part)]));
  }
  const value = childrenOf(element, "value")[0];
  return value === undefined || isNil(value) ? null : simpleValue(value);
}

/** @param {XmlElement} element */
function isNil(element) {
  return attributeOf(element, "nil") === "true";
}

/** @param {XmlElement} value @returns {unknown} */
function simpleValue(value) {
  const type = (attributeOf(value, "type") ?? "string").replace(/^.*:/, "");
  const text = value.text;
  switch (type) {
    case "decimal":
    case "double":
    case "integer":
      return Number(text);
    case "boolean":
      return text.trim() === "true";
    case "date":
    case "time":
    case "dateTime":
    case "duration":
      return temporal(text.trim());
    default:
      return text;
  }
}

/** The API returns temporal values as text, so text is parsed before it is compared. @param {unknown} value @param {unknown} wanted @returns {boolean} */
function isSame(value, wanted) {
  if (typeof wanted === "number")
    return typeof value === "number" && Math.abs(value - wanted) <= TOLERANCE * Math.max(1, Math.abs(wanted) * 1e-4);
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((item, i) => isSame(value[i], item));
  }
  if (typeof value === "string") return evaluateFeel("a = b", { a: temporal(value), b: wanted }).value === true;
  if (typeof value !== "object" || value === null) return false;
  const keys = Object.keys(wanted);
  const entries = /** @type {Record<string, unknown>} */ (value);
  const others = /** @type {Record<string, unknown>} */ (wanted);
  return keys.length === Object.keys(value).length && keys.every((key) => isSame(entries[key], others[key]));
}

/** @param {XmlElement} element @param {string} name Without its prefix. */
function attributeOf(element, name) {
  for (const [written, value] of element.attributes) if (written.replace(/^.*:/, "") === name) return value;
  return undefined;
}

/** @param {XmlElement} element @param {string} name */
function childrenOf(element, name) {
  return element.children.filter((child) => child.name === name);
}

/** @param {readonly Outcome[]} outcomes @returns {string} */
export function summary(outcomes) {
  const levels = [...new Set(outcomes.map(({ level }) => level))];
  return levels
    .map((level) => {
      const ofLevel = outcomes.filter((outcome) => outcome.level === level);
      const passed = ofLevel.filter(({ flaw }) => flaw === null).length;
      const results = ofLevel.reduce((sum, outcome) => sum + outcome.results, 0);
      const right = ofLevel.reduce((sum, outcome) => sum + outcome.right, 0);
      return `DMN TCK ${level}: ${passed} of ${ofLevel.length} cases, ${right} of ${results} results`;
    })
    .join("\n");
}

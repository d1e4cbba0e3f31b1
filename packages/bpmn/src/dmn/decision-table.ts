import { sum } from "../feel/arithmetic.ts";
import type { Node, UnaryTests } from "../feel/ast.ts";
import { equal, order } from "../feel/compare.ts";
import { evaluate } from "../feel/evaluate.ts";
import { childScope, type Evaluation, type Scope } from "../feel/evaluation.ts";
import { coerced } from "../feel/feel-types.ts";
import { meets, meetsAll } from "../feel/unary-tests.ts";
import { contextOf, type FeelType, type FeelValue, isList } from "../feel/value.ts";

/** The warning of a table that has no value without an error. */
export const NO_RULE = "no rule of the decision table matches";

export type HitPolicy = "unique" | "any" | "priority" | "first" | "rule order" | "output order" | "collect";
export type Aggregation = "sum" | "count" | "min" | "max";

export interface TableInput {
  readonly expression: Node;
  readonly type: FeelType | null;
  readonly values: UnaryTests | null;
}

export interface TableOutput {
  readonly name: string;
  readonly type: FeelType | null;
  /** The possible values, highest priority first. */
  readonly values: UnaryTests | null;
  readonly otherwise: Node | null;
}

export interface TableRule {
  readonly tests: readonly UnaryTests[];
  readonly results: readonly Node[];
}

export interface DecisionTable {
  readonly policy: HitPolicy;
  readonly aggregation: Aggregation | null;
  readonly inputs: readonly TableInput[];
  readonly outputs: readonly TableOutput[];
  readonly rules: readonly TableRule[];
}

export function tableNode(table: DecisionTable): Node {
  return { kind: "boxed", evaluate: (scope, run) => decideTable(table, scope, run) };
}

function decideTable(table: DecisionTable, scope: Scope, run: Evaluation): FeelValue {
  const values = inputValues(table, scope, run);
  if (values === null) return null;
  const scopes = values.map((value) => childScope(scope, { "?": value }));
  const hits = table.rules.filter((rule) => {
    run.step();
    return rule.tests.every((test, i) => {
      const inner = scopes[i] ?? scope;
      return meetsAll(values[i] ?? null, test, (node) => evaluate(node, inner, run)) === true;
    });
  });
  if (hits.length === 0) return withoutHit(table, scope, run);
  if (table.policy === "first") hits.length = 1;
  const results = hits.map((rule) => resultOf(table, rule, scope, run));
  return chosen(table, results, scope, run);
}

/** Null if a value has the wrong type or is not allowed by the table. */
function inputValues(table: DecisionTable, scope: Scope, run: Evaluation): readonly FeelValue[] | null {
  const values: FeelValue[] = [];
  for (const { expression, type, values: allowed } of table.inputs) {
    const raw = evaluate(expression, scope, run);
    const value = type === null ? raw : coerced(raw, type, run.types);
    if (value === null && raw !== null) return run.warn("input of a decision table has the wrong type");
    const inner = childScope(scope, { "?": value });
    if (allowed !== null && meetsAll(value, allowed, (node) => evaluate(node, inner, run)) !== true) {
      return run.warn("input of a decision table is not an allowed value");
    }
    values.push(value);
  }
  return values;
}

/** The results of one rule, in the order of the outputs. */
type Result = readonly FeelValue[];

function resultOf(table: DecisionTable, rule: TableRule, scope: Scope, run: Evaluation): Result {
  return table.outputs.map((output, i) => {
    const node = rule.results[i];
    const value = node === undefined ? null : evaluate(node, scope, run);
    return output.type === null ? value : coerced(value, output.type, run.types);
  });
}

function valueOfResult({ outputs }: DecisionTable, result: Result): FeelValue {
  if (outputs.length === 1) return result[0] ?? null;
  return contextOf(outputs.map(({ name }, i) => [name, result[i] ?? null]));
}

function withoutHit(table: DecisionTable, scope: Scope, run: Evaluation): FeelValue {
  if (table.outputs.every(({ otherwise }) => otherwise === null)) {
    if (table.policy === "collect" && table.aggregation === "count") return 0;
    return run.warn(NO_RULE);
  }
  const result = table.outputs.map(({ otherwise }) => (otherwise === null ? null : evaluate(otherwise, scope, run)));
  const value = valueOfResult(table, result);
  const isMany = ["rule order", "output order", "collect"].includes(table.policy) && table.aggregation === null;
  return isMany && !isList(value) ? [value] : value;
}

function chosen(table: DecisionTable, results: readonly Result[], scope: Scope, run: Evaluation): FeelValue {
  const values = results.map((result) => valueOfResult(table, result));
  const [first = null] = values;
  switch (table.policy) {
    case "unique":
      return values.length === 1 ? first : run.warn("several rules match in a decision table with hit policy UNIQUE");
    case "any":
      return values.every((value) => equal(value, first) === true)
        ? first
        : run.warn("matching rules have different outputs in a decision table with hit policy ANY");
    case "first":
      return first;
    case "priority":
      return valueOfResult(table, ranked(table, results, scope, run)[0] ?? []);
    case "output order":
      return ranked(table, results, scope, run).map((result) => valueOfResult(table, result));
    case "rule order":
      return values;
    case "collect":
      return table.aggregation === null ? values : aggregated(table.aggregation, values);
  }
}

/** Sorts by priority: by the position of each value among its output's values, the first output first. */
function ranked(table: DecisionTable, results: readonly Result[], scope: Scope, run: Evaluation): readonly Result[] {
  const ranks = new Map(
    results.map((result) => [result, result.map((value, i) => rankOf(table.outputs[i], value, scope, run))]),
  );
  return results.toSorted((a, b) => {
    const [left, right] = [ranks.get(a) ?? [], ranks.get(b) ?? []];
    const at = left.findIndex((rank, i) => rank !== right[i]);
    return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
  });
}

function rankOf(output: TableOutput | undefined, value: FeelValue, scope: Scope, run: Evaluation): number {
  if (output?.values?.kind !== "tests") return 0;
  const { tests } = output.values;
  const inner = childScope(scope, { "?": value });
  const rank = tests.findIndex((test) => meets(value, [test], (node) => evaluate(node, inner, run)) === true);
  return rank === -1 ? tests.length : rank;
}

function aggregated(aggregation: Aggregation, values: readonly FeelValue[]): FeelValue {
  const [first = null, ...rest] = values;
  switch (aggregation) {
    case "count":
      return values.length;
    case "sum":
      return rest.reduce<FeelValue>((total, value) => sum(total, value), first);
    case "min":
    case "max": {
      const direction = aggregation === "max" ? 1 : -1;
      let best: FeelValue = first;
      for (const value of rest) {
        const ordered = order(value, best);
        if (ordered === null) return null;
        if (ordered * direction > 0) best = value;
      }
      return best;
    }
  }
}

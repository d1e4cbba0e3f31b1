import { sum } from "../feel/arithmetic.ts";
import type { Node, UnaryTests } from "../feel/ast.ts";
import { equal, order } from "../feel/compare.ts";
import { evaluate } from "../feel/evaluate.ts";
import { type Evaluation, inside, type Scope } from "../feel/evaluation.ts";
import { coerced } from "../feel/feel-types.ts";
import { meets, meetsAll } from "../feel/unary-tests.ts";
import { contextOf, type FeelType, type FeelValue, isList } from "../feel/value.ts";

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
  /** Which values there are, the most important first. */
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
  const scopes = values.map((value) => inside(scope, { "?": value }));
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

/** Null where a value is none of those that the table allows. */
function inputValues(table: DecisionTable, scope: Scope, run: Evaluation): readonly FeelValue[] | null {
  const values: FeelValue[] = [];
  for (const { expression, type, values: allowed } of table.inputs) {
    const raw = evaluate(expression, scope, run);
    const value = type === null ? raw : coerced(raw, type, run.types);
    if (value === null && raw !== null) return run.warn("an input of a decision table is of another type");
    const inner = inside(scope, { "?": value });
    if (allowed !== null && meetsAll(value, allowed, (node) => evaluate(node, inner, run)) !== true) {
      return run.warn("an input of a decision table is none of its allowed values");
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
    return run.warn("no rule of a decision table fits");
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
      return values.length === 1 ? first : run.warn("more than one rule of a unique decision table fits");
    case "any":
      return values.every((value) => equal(value, first) === true) ? first : run.warn("rules that fit disagree");
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

/** The most important first: by the place of each output among its output's values, the first output before the second. */
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
  const inner = inside(scope, { "?": value });
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

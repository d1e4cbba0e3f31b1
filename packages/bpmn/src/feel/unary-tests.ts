import type { CompareOperator, Node, Test, UnaryTests } from "./ast.ts";
import { equal, order, within } from "./compare.ts";
import { type FeelValue, isKind, isList } from "./value.ts";

type Evaluate = (node: Node) => FeelValue;

/** Whether the value meets one of the tests. Null if it meets none and one result is unknown. */
export function meets(value: FeelValue, tests: readonly Test[], evaluate: Evaluate): boolean | null {
  let isUnknown = false;
  for (const test of tests) {
    const met = meetsOne(value, test, evaluate);
    if (met === true) return true;
    if (met === null) isUnknown = true;
  }
  return isUnknown ? null : false;
}

/** Whether the value meets a decision table cell. */
export function meetsAll(value: FeelValue, unary: UnaryTests, evaluate: Evaluate): boolean | null {
  if (unary.kind === "any") return true;
  const met = meets(value, unary.tests, evaluate);
  if (!unary.negated) return met;
  return met === null ? null : !met;
}

function meetsOne(value: FeelValue, test: Test, evaluate: Evaluate): boolean | null {
  const against = evaluate(test.value);
  if (test.kind === "compare") return compared(test.op, value, against);
  if (test.readsValue) return typeof against === "boolean" ? against : holdsValue(value, against);
  return holdsValue(value, against);
}

function compared(op: CompareOperator, value: FeelValue, against: FeelValue): boolean | null {
  if (op === "=") return equal(value, against);
  if (op === "!=") {
    const same = equal(value, against);
    return same === null ? null : !same;
  }
  const ordered = order(value, against);
  if (ordered === null) return null;
  if (op === "<") return ordered < 0;
  if (op === "<=") return ordered <= 0;
  return op === ">" ? ordered > 0 : ordered >= 0;
}

/** A range or list must contain the value or equal it. Any other value must equal it. */
function holdsValue(value: FeelValue, against: FeelValue): boolean | null {
  if (isKind(against, "range")) return isKind(value, "range") ? equal(value, against) : within(value, against);
  if (!isList(against))
    return against === true && typeof value !== "boolean" && value !== null ? true : equal(value, against);
  const isHeld = against.some(
    (item) => equal(value, item) === true || (isKind(item, "range") && within(value, item) === true),
  );
  return isHeld || (isList(value) && equal(value, against) === true);
}

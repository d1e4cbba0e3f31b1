import type { Node } from "../feel/ast.ts";
import { evaluate } from "../feel/evaluate.ts";
import type { FeelValue } from "../feel/value.ts";
import { isList } from "../feel/value.ts";

/** Boxes that are stricter than the same in words: where a condition gives something else than true, false or null, they are null. */

const isOdd = (value: FeelValue): boolean => value !== null && typeof value !== "boolean";

export function conditionalBox(test: Node, yes: Node, no: Node): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const chosen = evaluate(test, scope, run);
      if (isOdd(chosen)) return run.warn("a condition is not boolean");
      return evaluate(chosen === true ? yes : no, scope, run);
    },
  };
}

export function filterBox(from: Node, match: Node): Node {
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      let wasOdd = false;
      const watched: Node = {
        kind: "boxed",
        evaluate: (inner) => {
          const kept = evaluate(match, inner, run);
          wasOdd ||= isOdd(kept) && typeof kept !== "number";
          return kept;
        },
      };
      const value = evaluate({ kind: "filter", from, test: watched }, scope, run);
      return wasOdd ? run.warn("the match of a filter is not boolean") : value;
    },
  };
}

/** `each` gives what the condition says of each item. */
export function quantifierBox(kind: "some" | "every", each: Node): Node {
  const decisive = kind === "some";
  return {
    kind: "boxed",
    evaluate: (scope, run) => {
      const results = evaluate(each, scope, run);
      if (!isList(results) || results.some(isOdd)) return run.warn("a condition is not boolean");
      if (results.includes(decisive)) return decisive;
      return results.includes(null) ? null : !decisive;
    },
  };
}

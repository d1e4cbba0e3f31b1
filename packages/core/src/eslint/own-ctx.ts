import { isFunction, keyOf, type LintNode, type LintRule, lintRule, nodeAt, user } from "./lint-node.ts";
import { WorkflowCode } from "./workflow-code.ts";

/** The same whichever ctx of the run is asked. */
const OF_THE_RUN = new Set(["runId", "workflow", "attempt", "now", "log"]);

export const ownCtx: LintRule = lintRule(
  "A branch, a round or a scope uses the ctx that it is given",
  {
    outer:
      "{{ name }} belongs to the code around this branch: take the ctx that the branch gets as its own parameter, so that what it does has its place under the branch and ends with it",
  },
  (context) => {
    const code = new WorkflowCode(context);
    return {
      Identifier(node) {
        const ctx = code.ctxOf(node);
        if (ctx === null || isParameter(node) || isHarmless(node)) return;
        const scope = code.scopeOf(node);
        if (scope === null || scope === code.ownerOf(ctx) || code.roleOf(scope) !== "branch") return;
        if (!isWithin(scope, code.ownerOf(ctx))) return;
        context.report({ node, messageId: "outer", data: { name: ctx.name } });
      },
    };
  },
);

function isParameter(node: LintNode): boolean {
  const above = node.parent ?? null;
  return above === null || isFunction(above) ? nodeAt(above ?? node, "body") !== node : isName(node, above);
}

/** Whether an identifier only names a member or a property. */
function isName(node: LintNode, above: LintNode): boolean {
  if (above.type === "MemberExpression") return nodeAt(above, "object") !== node && above.computed !== true;
  return above.type === "Property" && nodeAt(above, "key") === node && above.computed !== true;
}

function isHarmless(node: LintNode): boolean {
  const place = user(node);
  return place?.node.type === "MemberExpression" && OF_THE_RUN.has(keyOf(place.node) ?? "");
}

function isWithin(inner: LintNode, outer: LintNode | null): boolean {
  for (let above: LintNode | null = inner; above !== null; above = above.parent ?? null) {
    if (above === outer) return true;
  }
  return false;
}

import { isFunction, keyOf, type LintNode, type LintRule, lintRule, nodeAt, usageOf } from "./lint-node.ts";
import { WorkflowCode } from "./workflow-code.ts";

/** Members with the same value in every ctx of a run. */
const OF_THE_RUN = new Set(["runId", "workflow", "attempt", "now", "log"]);

export const ownCtx: LintRule = lintRule(
  "A branch, an iteration or a scope must use its own ctx",
  {
    outer:
      "{{ name }} belongs to the code around this branch: use the ctx parameter of the branch, so that its operations are located under the branch and end with it",
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
  const place = usageOf(node);
  return place?.node.type === "MemberExpression" && OF_THE_RUN.has(keyOf(place.node) ?? "");
}

function isWithin(inner: LintNode, outer: LintNode | null): boolean {
  for (let above: LintNode | null = inner; above !== null; above = above.parent ?? null) {
    if (above === outer) return true;
  }
  return false;
}

import { type LintRule, lintRule } from "./lint-node.ts";
import { WorkflowCode } from "./workflow-code.ts";

/** These operations leave nothing for a replay to repeat, so a step may call them. */
const FREE = new Set(["now", "log"]);

export const noCtxInStep: LintRule = lintRule(
  "A step body must not call operations of a ctx, because it is not replayed",
  {
    nested:
      "{{ name }} is called in a step body, which is not replayed: call it before or after the step, or use ctx.try for a separate scope",
  },
  (context) => {
    const code = new WorkflowCode(context);
    return {
      CallExpression(node) {
        const call = code.callOf(node);
        if (call === null || FREE.has(call.operation) || !code.isInStep(node)) return;
        context.report({ node, messageId: "nested", data: { name: `${call.ctx.name}.${call.operation}` } });
      },
    };
  },
);

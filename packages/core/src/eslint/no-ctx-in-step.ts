import { type LintRule, lintRule } from "./lint-node.ts";
import { WorkflowCode } from "./workflow-code.ts";

/** They issue no command, so a step may ask for them. */
const FREE = new Set(["now", "random", "uuid", "log"]);

export const noCtxInStep: LintRule = lintRule(
  "A step asks its ctx for nothing: what is in it is run once and not replayed",
  {
    nested:
      "{{ name }} is called in the body of a step, which is not replayed: call it before or after the step, or use ctx.try for a scope of its own",
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

import {
  isFunction,
  keyOf,
  type LintContext,
  type LintNode,
  type LintRule,
  lintRule,
  nodeAt,
  nodesAt,
  usageOf,
} from "./lint-node.ts";
import { variableOf } from "./scopes.ts";
import { calledFunction, WorkflowCode } from "./workflow-code.ts";

/** These operations return their value, not a promise. */
const NOT_AWAITED = new Set(["now", "random", "uuid", "log", "removed"]);
const PROMISE_METHODS = new Set(["then", "catch", "finally"]);

export const awaitCtx: LintRule = lintRule(
  "Every promise of a ctx must be awaited, returned or stored",
  {
    dropped:
      "the promise of {{ name }} is dropped: await it, return it, or store it for Promise.all; otherwise the run may end first, and a failure is lost",
    each: "forEach does not wait for {{ name }}: use for…of, or map with Promise.all",
  },
  (context) => {
    const code = new WorkflowCode(context);
    return {
      CallExpression(node) {
        const name = durableCall(context, code, node);
        if (name === null) return;
        const use = useOf(context, node);
        if (use !== "used") context.report({ node, messageId: use, data: { name } });
      },
    };
  },
);

/** Returns the name of a call whose promise must not be dropped: an operation of a ctx, or an async function of this file with a ctx argument. */
function durableCall(context: LintContext, code: WorkflowCode, node: LintNode): string | null {
  const call = code.callOf(node);
  if (call !== null) return NOT_AWAITED.has(call.operation) ? null : `${call.ctx.name}.${call.operation}`;
  if (!nodesAt(node, "arguments").some((argument) => code.ctxOf(argument) !== null)) return null;
  const called = calledFunction(context, node);
  const callee = nodeAt(node, "callee");
  return called?.async === true && typeof callee?.name === "string" ? callee.name : null;
}

type Use = "used" | "dropped" | "each";

/** Returns how the code uses the value of an expression. */
function useOf(context: LintContext, node: LintNode): Use {
  const place = usageOf(node);
  if (place === null) return "used";
  const { node: above, part } = place;
  switch (above.type) {
    case "ExpressionStatement":
      return "dropped";
    case "UnaryExpression":
      return above.operator === "void" ? "dropped" : useOf(context, above);
    case "SequenceExpression":
      return nodesAt(above, "expressions").at(-1) === part ? useOf(context, above) : "dropped";
    case "LogicalExpression":
      return nodeAt(above, "right") === part ? useOf(context, above) : "used";
    case "ConditionalExpression":
      return nodeAt(above, "test") === part ? "used" : useOf(context, above);
    case "MemberExpression":
      return useOfMember(context, above);
    case "VariableDeclarator":
      return isRead(context, above) ? "used" : "dropped";
    case "ArrowFunctionExpression":
      return nodeAt(above, "body") === part && isForEach(above) ? "each" : "used";
    case "AwaitExpression":
      return isInForEach(above) ? "each" : "used";
    default:
      return "used";
  }
}

/** `.then()`, `.catch()` and `.finally()` return another promise, whose use counts. */
function useOfMember(context: LintContext, member: LintNode): Use {
  const call = usageOf(member);
  const isCalled = call?.node.type === "CallExpression" && nodeAt(call.node, "callee") === call.part;
  return isCalled && PROMISE_METHODS.has(keyOf(member) ?? "") ? useOf(context, call.node) : "used";
}

function isRead(context: LintContext, declarator: LintNode): boolean {
  const id = nodeAt(declarator, "id");
  if (id?.type !== "Identifier") return true;
  return variableOf(context, id)?.references.some((reference) => reference.isRead()) ?? true;
}

/** forEach ignores the promise of an async function that is passed to it. */
function isInForEach(node: LintNode): boolean {
  for (let above = node.parent ?? null; above !== null; above = above.parent ?? null) {
    if (isFunction(above)) return isForEach(above);
  }
  return false;
}

function isForEach(fn: LintNode): boolean {
  const place = usageOf(fn);
  if (place?.node.type !== "CallExpression") return false;
  const callee = nodeAt(place.node, "callee");
  return callee?.type === "MemberExpression" && keyOf(callee) === "forEach";
}

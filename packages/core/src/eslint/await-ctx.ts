import {
  isFunction,
  keyOf,
  type LintContext,
  type LintNode,
  type LintRule,
  lintRule,
  nodeAt,
  nodesAt,
  user,
} from "./lint-node.ts";
import { variableOf } from "./scopes.ts";
import { calledFunction, WorkflowCode } from "./workflow-code.ts";

/** They give their value at once. */
const NOT_AWAITED = new Set(["now", "random", "uuid", "log", "removed"]);
const PROMISE_METHODS = new Set(["then", "catch", "finally"]);

export const awaitCtx: LintRule = lintRule(
  "Every promise of a ctx is awaited, returned or kept",
  {
    dropped:
      "the promise of {{ name }} is dropped: await it, return it, or keep it for Promise.all. A run may end before it does, and nobody sees its failure",
    each: "forEach does not wait for {{ name }}: use for…of, or map with Promise.all",
  },
  (context) => {
    const code = new WorkflowCode(context);
    return {
      CallExpression(node) {
        const name = promised(context, code, node);
        if (name === null) return;
        const fate = fateOf(context, node);
        if (fate !== "used") context.report({ node, messageId: fate, data: { name } });
      },
    };
  },
);

/** What a call promises durably: an operation of a ctx, or an async function of this file that is given a ctx. */
function promised(context: LintContext, code: WorkflowCode, node: LintNode): string | null {
  const call = code.callOf(node);
  if (call !== null) return NOT_AWAITED.has(call.operation) ? null : `${call.ctx.name}.${call.operation}`;
  if (!nodesAt(node, "arguments").some((argument) => code.ctxOf(argument) !== null)) return null;
  const called = calledFunction(context, node);
  const callee = nodeAt(node, "callee");
  return called?.async === true && typeof callee?.name === "string" ? callee.name : null;
}

type Fate = "used" | "dropped" | "each";

/** What becomes of the value of an expression. */
function fateOf(context: LintContext, node: LintNode): Fate {
  const place = user(node);
  if (place === null) return "used";
  const { node: above, part } = place;
  switch (above.type) {
    case "ExpressionStatement":
      return "dropped";
    case "UnaryExpression":
      return above.operator === "void" ? "dropped" : fateOf(context, above);
    case "SequenceExpression":
      return nodesAt(above, "expressions").at(-1) === part ? fateOf(context, above) : "dropped";
    case "LogicalExpression":
      return nodeAt(above, "right") === part ? fateOf(context, above) : "used";
    case "ConditionalExpression":
      return nodeAt(above, "test") === part ? "used" : fateOf(context, above);
    case "MemberExpression":
      return fateOfMember(context, above);
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

/** `.then()` and its like give a promise again, with the same fate. */
function fateOfMember(context: LintContext, member: LintNode): Fate {
  const call = user(member);
  const isCalled = call?.node.type === "CallExpression" && nodeAt(call.node, "callee") === call.part;
  return isCalled && PROMISE_METHODS.has(keyOf(member) ?? "") ? fateOf(context, call.node) : "used";
}

function isRead(context: LintContext, declarator: LintNode): boolean {
  const id = nodeAt(declarator, "id");
  if (id?.type !== "Identifier") return true;
  return variableOf(context, id)?.references.some((reference) => reference.isRead()) ?? true;
}

/** An async function that is handed to forEach is waited for by nobody. */
function isInForEach(node: LintNode): boolean {
  for (let above = node.parent ?? null; above !== null; above = above.parent ?? null) {
    if (isFunction(above)) return isForEach(above);
  }
  return false;
}

function isForEach(fn: LintNode): boolean {
  const place = user(fn);
  if (place?.node.type !== "CallExpression") return false;
  const callee = nodeAt(place.node, "callee");
  return callee?.type === "MemberExpression" && keyOf(callee) === "forEach";
}

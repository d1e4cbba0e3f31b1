import {
  isFunction,
  keyOf,
  type LintContext,
  type LintNode,
  type LintRule,
  lintRule,
  literalText,
  nodeAt,
  nodesAt,
  unwrap,
} from "./lint-node.ts";
import { canBothRun } from "./paths.ts";
import { variableOf } from "./scopes.ts";
import { type CtxCall, WorkflowCode } from "./workflow-code.ts";

/** Operations whose first argument is the name. */
const NAMED_FIRST = new Set([
  "step",
  "tryStep",
  "transaction",
  "resource",
  "join",
  "race",
  "try",
  "map",
  "rollbackCheckpoint",
]);
/** Operations with a name in their options, and the index of that argument. */
const OPTIONS_AT = new Map([
  ["sleep", 1],
  ["sleepUntil", 1],
  ["listen", 1],
  ["listenN", 2],
  ["awaitEvent", 1],
  ["select", 1],
  ["child", 2],
  ["startChild", 2],
  ["loop", 0],
]);

interface Named {
  readonly node: LintNode;
  readonly text: string;
  readonly scope: LintNode;
  readonly call: LintNode;
}

export const uniqueNames: LintRule = lintRule(
  "Names of steps and waits must be constant text, and unique in their scope",
  {
    twice:
      "{{ name }} is used above in the same scope: it gets a number by order, and a call added between the two would change the number; use different names",
    computed: "the name of {{ call }} contains no constant text: use a literal, or a template with text",
  },
  (context) => {
    const code = new WorkflowCode(context);
    const seen: Named[] = [];
    return {
      CallExpression(node) {
        const call = code.callOf(node);
        const name = call === null ? null : nameNode(call);
        const scope = code.scopeOf(node);
        if (call === null || name === null || scope === null) return;
        const text = textOf(context, name);
        if (text === null && !hasText(context, name)) {
          const data = { call: `${call.ctx.name}.${call.operation}` };
          context.report({ node: name, messageId: "computed", data });
        }
        if (text === null) return;
        const twin = seen.find((other) => other.text === text && other.scope === scope && canBothRun(other.call, node));
        if (twin !== undefined) context.report({ node: name, messageId: "twice", data: { name: `"${text}"` } });
        seen.push({ node: name, text, scope, call: node });
      },
    };
  },
);

function nameNode({ operation, args }: CtxCall): LintNode | null {
  if (NAMED_FIRST.has(operation)) return args[0] ?? null;
  const place = OPTIONS_AT.get(operation);
  const options = place === undefined ? null : unwrap(args[place] ?? null);
  if (options?.type !== "ObjectExpression") return null;
  const property = nodesAt(options, "properties").find((each) => each.type === "Property" && keyOf(each) === "name");
  return property === undefined ? null : nodeAt(property, "value");
}

/** Returns the text of a literal, or of a constant that was declared with a literal. */
function textOf(context: LintContext, name: LintNode): string | null {
  return literalText(name) ?? literalText(constantOf(context, name));
}

function constantOf(context: LintContext, name: LintNode): LintNode | null {
  const definition = variableOf(context, unwrap(name))?.defs[0];
  if (definition?.type !== "Variable" || definition.parent?.kind !== "const") return null;
  const isWhole = nodeAt(definition.node, "id")?.type === "Identifier";
  return isWhole ? unwrap(nodeAt(definition.node, "init")) : null;
}

/** Whether a computed name contains constant text. */
function hasText(context: LintContext, name: LintNode): boolean {
  const expression = unwrap(name);
  if (expression === null) return false;
  if (literalText(expression) !== null) return true;
  switch (expression.type) {
    case "TemplateLiteral":
      return true;
    case "BinaryExpression":
      return ["left", "right"].some((side) => hasText(context, nodeAt(expression, side) ?? expression));
    case "ConditionalExpression":
      return ["consequent", "alternate"].every((side) => hasText(context, nodeAt(expression, side) ?? expression));
    case "Identifier": {
      if (isParameter(context, expression)) return true;
      const constant = constantOf(context, expression);
      return constant !== null && hasText(context, constant);
    }
    case "MemberExpression":
      return true;
    default:
      return false;
  }
}

/** The caller of a helper function writes the name. */
function isParameter(context: LintContext, name: LintNode): boolean {
  const definition = variableOf(context, name)?.defs[0];
  return definition?.type === "Parameter" && isFunction(definition.node);
}

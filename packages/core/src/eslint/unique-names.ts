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
  plain,
} from "./lint-node.ts";
import { canBothRun } from "./paths.ts";
import { variableOf } from "./scopes.ts";
import { type CtxCall, WorkflowCode } from "./workflow-code.ts";

/** The first argument is the name. */
const NAMED_FIRST = new Set([
  "step",
  "tryStep",
  "transaction",
  "resource",
  "join",
  "race",
  "try",
  "rollbackCheckpoint",
]);
/** Where the options are that may hold a name. */
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
  "Names of steps and waits are written out, and each is used once in its scope",
  {
    twice:
      "{{ name }} is used above in the same scope: it would be numbered by order, and adding a call between the two would renumber it. Give each a name of its own",
    computed: "the name of {{ call }} has no text of its own: write it out, or as a template with text in it",
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
  const options = place === undefined ? null : plain(args[place] ?? null);
  if (options?.type !== "ObjectExpression") return null;
  const property = nodesAt(options, "properties").find((each) => each.type === "Property" && keyOf(each) === "name");
  return property === undefined ? null : nodeAt(property, "value");
}

/** The text of a literal, or of a constant that was declared with one. */
function textOf(context: LintContext, name: LintNode): string | null {
  return literalText(name) ?? literalText(constantOf(context, name));
}

function constantOf(context: LintContext, name: LintNode): LintNode | null {
  const definition = variableOf(context, plain(name))?.defs[0];
  if (definition?.type !== "Variable" || definition.parent?.kind !== "const") return null;
  const isWhole = nodeAt(definition.node, "id")?.type === "Identifier";
  return isWhole ? plain(nodeAt(definition.node, "init")) : null;
}

/** Whether a name that is made up has some text that says what it is. */
function hasText(context: LintContext, name: LintNode): boolean {
  const expression = plain(name);
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
      if (isGiven(context, expression)) return true;
      const constant = constantOf(context, expression);
      return constant !== null && hasText(context, constant);
    }
    case "MemberExpression":
      return true;
    default:
      return false;
  }
}

/** A helper function is told the name by its caller, who writes it out. */
function isGiven(context: LintContext, name: LintNode): boolean {
  const definition = variableOf(context, name)?.defs[0];
  return definition?.type === "Parameter" && isFunction(definition.node);
}

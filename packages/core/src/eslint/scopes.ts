import {
  isFunction,
  type LintContext,
  type LintNode,
  type LintScope,
  type LintVariable,
  nameOf,
  nodeAt,
  plain,
} from "./lint-node.ts";

/** The variable that an identifier stands for; null where the file declares none. */
export function variableOf(context: LintContext, identifier: LintNode | null): LintVariable | null {
  const name = nameOf(identifier);
  if (name === null || identifier === null) return null;
  for (let scope = scopeAt(context, identifier); scope !== null; scope = scope.upper) {
    const variable = scope.set.get(name);
    if (variable !== undefined) return variable.defs.length === 0 ? null : variable;
  }
  return null;
}

/** ESLint lints other languages too; their files have no scopes, and no workflows. */
function scopeAt({ sourceCode }: LintContext, node: LintNode): LintScope | null {
  return hasScopes(sourceCode) ? sourceCode.getScope(node) : null;
}

function hasScopes(sourceCode: object): sourceCode is { getScope(node: LintNode): LintScope } {
  return "getScope" in sourceCode && typeof sourceCode.getScope === "function";
}

/** The module that a variable is imported from, and under which name there; `*` is all of it. */
export function importOf(variable: LintVariable | null): { readonly module: string; readonly name: string } | null {
  const definition = variable?.defs[0];
  if (definition?.type !== "ImportBinding") return null;
  const declaration = definition.parent ?? null;
  const source = declaration === null ? null : nodeAt(declaration, "source");
  if (typeof source?.value !== "string") return null;
  if (definition.node.type !== "ImportSpecifier") return { module: source.value, name: "*" };
  const imported = nodeAt(definition.node, "imported");
  return { module: source.value, name: nameOf(imported) ?? String(imported?.value ?? "") };
}

/** The function that an expression stands for: itself, or the one that a variable was declared with. */
export function functionOf(context: LintContext, expression: LintNode | null): LintNode | null {
  const value = plain(expression);
  if (value === null) return null;
  if (isFunction(value)) return value;
  const definition = variableOf(context, value)?.defs[0];
  if (definition?.type === "FunctionName") return definition.node;
  if (definition?.type !== "Variable") return null;
  const initial = plain(nodeAt(definition.node, "init"));
  return initial !== null && isFunction(initial) ? initial : null;
}

/** The variable that a function is declared as, and is read by. */
export function declaredAs(context: LintContext, fn: LintNode): LintVariable | null {
  if (fn.type === "FunctionDeclaration") return variableOf(context, nodeAt(fn, "id"));
  const above = fn.parent ?? null;
  return above?.type === "VariableDeclarator" ? variableOf(context, nodeAt(above, "id")) : null;
}

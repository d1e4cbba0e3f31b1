import {
  isFunction,
  type LintContext,
  type LintNode,
  type LintScope,
  type LintVariable,
  nameOf,
  nodeAt,
  unwrap,
} from "./lint-node.ts";

/** Returns the variable of an identifier. Null if the file does not declare it. */
export function variableOf(context: LintContext, identifier: LintNode | null): LintVariable | null {
  const name = nameOf(identifier);
  if (name === null || identifier === null) return null;
  for (let scope = scopeAt(context, identifier); scope !== null; scope = scope.upper) {
    const variable = scope.set.get(name);
    if (variable !== undefined) return variable.defs.length === 0 ? null : variable;
  }
  return null;
}

/** ESLint also lints other languages. Their files have no scopes and no workflows. */
function scopeAt({ sourceCode }: LintContext, node: LintNode): LintScope | null {
  return hasScopes(sourceCode) ? sourceCode.getScope(node) : null;
}

function hasScopes(sourceCode: object): sourceCode is { getScope(node: LintNode): LintScope } {
  return "getScope" in sourceCode && typeof sourceCode.getScope === "function";
}

/** Returns the module that a variable is imported from, and its name there. `*` stands for the whole module. */
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

/** Returns the function of an expression: the expression itself, or the value that its variable was declared with. */
export function functionOf(context: LintContext, expression: LintNode | null): LintNode | null {
  const value = unwrap(expression);
  if (value === null) return null;
  if (isFunction(value)) return value;
  const definition = variableOf(context, value)?.defs[0];
  if (definition?.type === "FunctionName") return definition.node;
  if (definition?.type !== "Variable") return null;
  const initial = unwrap(nodeAt(definition.node, "init"));
  return initial !== null && isFunction(initial) ? initial : null;
}

/** Returns the variable that a function is declared as. */
export function declaredAs(context: LintContext, fn: LintNode): LintVariable | null {
  if (fn.type === "FunctionDeclaration") return variableOf(context, nodeAt(fn, "id"));
  const above = fn.parent ?? null;
  return above?.type === "VariableDeclarator" ? variableOf(context, nodeAt(above, "id")) : null;
}

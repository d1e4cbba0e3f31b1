import { keyOf, type LintContext, type LintNode, literalText, nameOf, nodeAt, nodesAt, usageOf } from "./lint-node.ts";
import { importOf, variableOf } from "./scopes.ts";

/** Globals and module exports that code must not use directly in a workflow. */
export interface OutsideNames {
  /** Globals, and members of globals such as `Date.now`. */
  readonly globals: ReadonlySet<string>;
  /** Modules without `node:`, with their exports. `*` stands for all exports. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Names of the global object. */
const GLOBAL_OBJECTS = new Set(["globalThis", "window", "self", "global"]);

/** Returns the name of the global or module that an identifier, an `import()` or a `require()` accesses. Null if it is not in `outside`. */
export function outsideAccess(context: LintContext, node: LintNode, outside: OutsideNames): string | null {
  if (node.type === "ImportExpression") return loaded(nodeAt(node, "source"), outside);
  if (node.type === "CallExpression") {
    const callee = nodeAt(node, "callee");
    const isRequire = nameOf(callee) === "require" && variableOf(context, callee) === null;
    return isRequire ? loaded(nodesAt(node, "arguments")[0] ?? null, outside) : null;
  }
  if (!isRead(node)) return null;
  const variable = variableOf(context, node);
  if (variable === null) return globalOf(node, outside);
  const imported = importOf(variable);
  if (imported === null) return null;
  const names = outside.modules.get(withoutScheme(imported.module));
  const name = imported.name === "*" ? (members(node)[0] ?? null) : imported.name;
  if (names === undefined || name === null) return null;
  return names.has("*") || names.has(name) ? `${name} of ${imported.module}` : null;
}

function loaded(source: LintNode | null, outside: OutsideNames): string | null {
  const specifier = literalText(source);
  if (specifier === null) return null;
  return outside.modules.get(withoutScheme(specifier))?.has("*") === true ? `module ${specifier}` : null;
}

function withoutScheme(module: string): string {
  return module.replace(/^node:/, "");
}

function globalOf(node: LintNode, { globals }: OutsideNames): string | null {
  const path = [nameOf(node) ?? "", ...members(node)];
  if (GLOBAL_OBJECTS.has(path[0] ?? "")) path.shift();
  const [first = "", second] = path;
  if (globals.has(first)) return first;
  if (globals.has(`${first}.${second}`)) return `${first}.${second}`;
  return first === "Date" && globals.has("new Date") && path.length === 1 ? presentDate(node) : null;
}

/** A date created without arguments differs between replays. */
function presentDate(node: LintNode): string | null {
  const place = usageOf(outermostMember(node));
  if (place === null || nodeAt(place.node, "callee") !== place.part) return null;
  if (place.node.type === "CallExpression") return "Date()";
  if (place.node.type !== "NewExpression") return null;
  return nodesAt(place.node, "arguments").length === 0 ? "new Date()" : null;
}

/** Returns the names of the members accessed on an identifier, innermost first. */
function members(identifier: LintNode): string[] {
  const names: string[] = [];
  for (let place = usageOf(identifier); place !== null; place = usageOf(place.node)) {
    if (place.node.type !== "MemberExpression" || nodeAt(place.node, "object") !== place.part) break;
    const key = keyOf(place.node);
    if (key === null) break;
    names.push(key);
  }
  return names;
}

function outermostMember(identifier: LintNode): LintNode {
  let outermost = identifier;
  for (let place = usageOf(identifier); place !== null; place = usageOf(place.node)) {
    if (place.node.type !== "MemberExpression" || nodeAt(place.node, "object") !== place.part) break;
    outermost = place.node;
  }
  return outermost;
}

const NAMES_ITS_KEY = new Set(["Property", "MethodDefinition", "PropertyDefinition"]);

/** Whether an identifier reads a variable. It may also be the name of a member, a label or a type. */
function isRead(node: LintNode): boolean {
  const above = node.parent ?? null;
  if (nameOf(node) === null || above === null) return false;
  if (above.type === "MemberExpression") return nodeAt(above, "object") === node || above.computed === true;
  if (NAMES_ITS_KEY.has(above.type)) return nodeAt(above, "key") !== node || above.computed === true;
  if (above.type.endsWith("Specifier") || above.type === "LabeledStatement") return false;
  return !above.type.startsWith("TS") || nodeAt(above, "expression") === node;
}

import { keyOf, type LintContext, type LintNode, literalText, nameOf, nodeAt, nodesAt, user } from "./lint-node.ts";
import { importOf, variableOf } from "./scopes.ts";

/** What of the world outside a piece of code reaches for. */
export interface World {
  /** Globals, and members of globals as `Date.now`. */
  readonly globals: ReadonlySet<string>;
  /** Modules without `node:`, with the names that are meant; `*` is all of them. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Other names of the object that holds the globals. */
const GLOBAL_OBJECTS = new Set(["globalThis", "window", "self", "global"]);

/** The name of what an identifier, an `import()` or a `require()` reaches for; null where that is none of `world`. */
export function reached(context: LintContext, node: LintNode, world: World): string | null {
  if (node.type === "ImportExpression") return loaded(nodeAt(node, "source"), world);
  if (node.type === "CallExpression") {
    const callee = nodeAt(node, "callee");
    const isRequire = nameOf(callee) === "require" && variableOf(context, callee) === null;
    return isRequire ? loaded(nodesAt(node, "arguments")[0] ?? null, world) : null;
  }
  if (!isRead(node)) return null;
  const variable = variableOf(context, node);
  if (variable === null) return globalOf(node, world);
  const imported = importOf(variable);
  if (imported === null) return null;
  const names = world.modules.get(withoutScheme(imported.module));
  const name = imported.name === "*" ? (members(node)[0] ?? null) : imported.name;
  if (names === undefined || name === null) return null;
  return names.has("*") || names.has(name) ? `${name} of ${imported.module}` : null;
}

function loaded(source: LintNode | null, world: World): string | null {
  const specifier = literalText(source);
  if (specifier === null) return null;
  return world.modules.get(withoutScheme(specifier))?.has("*") === true ? `module ${specifier}` : null;
}

function withoutScheme(module: string): string {
  return module.replace(/^node:/, "");
}

function globalOf(node: LintNode, { globals }: World): string | null {
  const path = [nameOf(node) ?? "", ...members(node)];
  if (GLOBAL_OBJECTS.has(path[0] ?? "")) path.shift();
  const [first = "", second] = path;
  if (globals.has(first)) return first;
  if (globals.has(`${first}.${second}`)) return `${first}.${second}`;
  return first === "Date" && globals.has("new Date") && path.length === 1 ? presentDate(node) : null;
}

/** A date that is made of something is the same each time; one that is made of nothing is not. */
function presentDate(node: LintNode): string | null {
  const place = user(outermostMember(node));
  if (place === null || nodeAt(place.node, "callee") !== place.part) return null;
  if (place.node.type === "CallExpression") return "Date()";
  if (place.node.type !== "NewExpression") return null;
  return nodesAt(place.node, "arguments").length === 0 ? "new Date()" : null;
}

/** The names of the members that are read of what an identifier stands for, from the inside out. */
function members(identifier: LintNode): string[] {
  const names: string[] = [];
  for (let place = user(identifier); place !== null; place = user(place.node)) {
    if (place.node.type !== "MemberExpression" || nodeAt(place.node, "object") !== place.part) break;
    const key = keyOf(place.node);
    if (key === null) break;
    names.push(key);
  }
  return names;
}

function outermostMember(identifier: LintNode): LintNode {
  let outermost = identifier;
  for (let place = user(identifier); place !== null; place = user(place.node)) {
    if (place.node.type !== "MemberExpression" || nodeAt(place.node, "object") !== place.part) break;
    outermost = place.node;
  }
  return outermost;
}

const NAMES_ITS_KEY = new Set(["Property", "MethodDefinition", "PropertyDefinition"]);

/** Whether an identifier is the use of a variable, not the name of a member, a label or a type. */
function isRead(node: LintNode): boolean {
  const above = node.parent ?? null;
  if (nameOf(node) === null || above === null) return false;
  if (above.type === "MemberExpression") return nodeAt(above, "object") === node || above.computed === true;
  if (NAMES_ITS_KEY.has(above.type)) return nodeAt(above, "key") !== node || above.computed === true;
  if (above.type.endsWith("Specifier") || above.type === "LabeledStatement") return false;
  return !above.type.startsWith("TS") || nodeAt(above, "expression") === node;
}

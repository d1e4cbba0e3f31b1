/**
 * The part of ESLint that the rules use, as structural types. Linter and parser belong to the user, so this package depends on neither.
 */

/** A node of a syntax tree. Its fields depend on its type and are read by the functions below. */
export interface LintNode {
  readonly type: string;
  readonly parent?: LintNode | null;
  readonly [key: string]: unknown;
}

export interface LintDefinition {
  /** `Parameter`, `Variable`, `FunctionName`, `ImportBinding`, … */
  readonly type: string;
  readonly node: LintNode;
  readonly parent?: LintNode | null;
}

export interface LintReference {
  readonly identifier: LintNode;
  isRead(): boolean;
}

export interface LintVariable {
  readonly name: string;
  readonly defs: readonly LintDefinition[];
  readonly references: readonly LintReference[];
}

export interface LintScope {
  readonly set: ReadonlyMap<string, LintVariable>;
  readonly upper: LintScope | null;
}

export interface LintContext {
  /** The source code of a JavaScript or TypeScript file has scopes. */
  readonly sourceCode: object;
  report(finding: {
    readonly node: LintNode;
    readonly messageId: string;
    readonly data?: Readonly<Record<string, string>>;
  }): void;
}

export type LintListener = Readonly<Record<string, (node: LintNode) => void>>;

export interface LintRule {
  readonly meta: {
    readonly type: "problem";
    readonly docs: { readonly description: string };
    readonly messages: Readonly<Record<string, string>>;
    readonly schema: readonly [];
  };
  create(context: LintContext): LintListener;
}

/** A rule without options. */
export function lintRule(
  description: string,
  messages: Readonly<Record<string, string>>,
  create: (context: LintContext) => LintListener,
): LintRule {
  return { meta: { type: "problem", docs: { description }, messages, schema: [] }, create };
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
/** Nodes that change the type of an expression but not its value. */
const TYPE_ONLY = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression", "TSTypeAssertion"]);
const TRANSPARENT = new Set([...TYPE_ONLY, "ChainExpression", "ParenthesizedExpression"]);

export function isNode(value: unknown): value is LintNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

export function isFunction(node: LintNode): boolean {
  return FUNCTIONS.has(node.type);
}

/** Returns the node at a key. Null if there is none. */
export function nodeAt(node: LintNode, key: string): LintNode | null {
  const value = node[key];
  return isNode(value) ? value : null;
}

export function nodesAt(node: LintNode, key: string): readonly LintNode[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Removes parentheses and type-only nodes around an expression. */
export function unwrap(node: LintNode | null): LintNode | null {
  let inner = node;
  while (inner !== null && TRANSPARENT.has(inner.type)) inner = nodeAt(inner, "expression");
  return inner;
}

/** Returns the closest ancestor that uses the expression, and its part that contains the expression. Skips type-only nodes. */
export function usageOf(node: LintNode): { readonly node: LintNode; readonly part: LintNode } | null {
  let part = node;
  for (let above = node.parent ?? null; above !== null; above = above.parent ?? null) {
    if (!TRANSPARENT.has(above.type)) return { node: above, part };
    part = above;
  }
  return null;
}

/** Returns the text of a string literal or of a template without expressions. */
export function literalText(node: LintNode | null): string | null {
  const expression = unwrap(node);
  if (expression === null) return null;
  if (expression.type === "Literal") return typeof expression.value === "string" ? expression.value : null;
  if (expression.type !== "TemplateLiteral" || nodesAt(expression, "expressions").length > 0) return null;
  const value = nodesAt(expression, "quasis")[0]?.value;
  if (typeof value !== "object" || value === null || !("cooked" in value)) return null;
  return typeof value.cooked === "string" ? value.cooked : null;
}

/** Returns the name of an identifier. */
export function nameOf(node: LintNode | null): string | null {
  return node?.type === "Identifier" && typeof node.name === "string" ? node.name : null;
}

/** Returns the name of a member or property. Null if it is computed. */
export function keyOf(node: LintNode): string | null {
  const key = nodeAt(node, node.type === "MemberExpression" ? "property" : "key");
  return node.computed === true ? literalText(key) : (nameOf(key) ?? literalText(key));
}

import { parseAst } from "rolldown/parseAst";

/**
 * Reads TypeScript and JavaScript as syntax trees, so that checks do not mistake comments and strings for code.
 *
 * @typedef {{ readonly type: string, readonly start: number, readonly end: number, readonly [key: string]: unknown }} Node
 *
 * @typedef {object} Import One import of another module.
 * @property {string} specifier
 * @property {number} line
 * @property {readonly string[]} names The imported names, as the other module exports them; `*` means all.
 *
 * @typedef {object} Module
 * @property {readonly Import[]} imports
 * @property {readonly number[]} defaultExports Lines.
 * @property {readonly number[]} reExports Lines.
 * @property {readonly number[]} starExports Lines.
 */

/** @param {string} path @param {string} text @returns {Node} */
export function parse(path, text) {
  return /** @type {Node} */ (/** @type {unknown} */ (parseAst(text, { lang: languageOf(path) }, path)));
}

/** @param {string} path @returns {"js" | "ts" | "dts"} */
function languageOf(path) {
  if (path.endsWith(".d.ts")) return "dts";
  return path.endsWith(".ts") ? "ts" : "js";
}

/** @param {unknown} value @returns {value is Node} */
function isNode(value) {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/**
 * Every node below `node`, each with its parent and its key there.
 *
 * @param {Node} node
 * @returns {Generator<{ node: Node, parent: Node, key: string }>}
 */
export function* descendants(node) {
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue;
      yield { node: child, parent: node, key };
      yield* descendants(child);
    }
  }
}

/** @param {string} text @param {number} offset */
export function lineOf(text, offset) {
  return text.slice(0, offset).split("\n").length;
}

/** The name of an identifier, or the value of a string literal. @param {unknown} node @returns {string} */
export function nameOf(node) {
  if (!isNode(node)) return "";
  return String(node.name ?? node.value ?? "");
}

/** @param {Node} node @param {string} key @returns {readonly Node[]} */
export function nodesUnder(node, key) {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** @param {string} path @param {string} text @returns {Module} */
export function readModule(path, text) {
  const program = parse(path, text);
  const imports = [...descendants(program)].flatMap(({ node }) => importOf(text, node));
  const imported = new Set(
    nodesUnder(program, "body")
      .filter((node) => node.type === "ImportDeclaration")
      .flatMap((node) => nodesUnder(node, "specifiers").map((specifier) => nameOf(specifier.local))),
  );
  const exports = nodesUnder(program, "body").filter((node) => node.type.startsWith("Export"));
  /** @param {(node: Node) => boolean} matches */
  const lines = (matches) => exports.filter(matches).map((node) => lineOf(text, node.start));
  return {
    imports,
    defaultExports: lines(isDefaultExport),
    reExports: lines((node) => isNode(node.source) || exportedNames(node).some((name) => imported.has(name))),
    starExports: lines((node) => node.type === "ExportAllDeclaration"),
  };
}

/** @param {string} text @param {Node} node @returns {readonly Import[]} */
function importOf(text, node) {
  const importsAll = ["ExportAllDeclaration", "ImportExpression", "TSImportType"].includes(node.type);
  if (!importsAll && node.type !== "ImportDeclaration" && node.type !== "ExportNamedDeclaration") return [];
  const source = node.source;
  if (!isNode(source) || typeof source.value !== "string") return [];
  const names = importsAll ? ["*"] : nodesUnder(node, "specifiers").map(importedName);
  return [{ specifier: source.value, line: lineOf(text, node.start), names }];
}

/** @param {Node} specifier */
function importedName(specifier) {
  if (specifier.type === "ImportNamespaceSpecifier") return "*";
  if (specifier.type === "ImportDefaultSpecifier") return "default";
  return nameOf(specifier.imported ?? specifier.local);
}

/** @param {Node} node */
function isDefaultExport(node) {
  if (node.type === "ExportDefaultDeclaration") return true;
  return nodesUnder(node, "specifiers").some((specifier) => nameOf(specifier.exported) === "default");
}

/** @param {Node} node */
function exportedNames(node) {
  return nodesUnder(node, "specifiers").map((specifier) => nameOf(specifier.local));
}

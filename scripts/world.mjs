import { isCode, isTest } from "./sources.mjs";
import { descendants, lineOf, nameOf, parse, readModule } from "./syntax.mjs";

/**
 * The core and the packages inside it receive time, randomness, logging and the network as parameters, because the simulator replaces
 * them. This check finds code that uses the platform's.
 *
 * @import { Finding, Source } from "./sources.mjs"
 * @import { Node } from "./syntax.mjs"
 */

const INSIDE = ["packages/core/src/", "packages/bpmn/src/"];

const EXEMPT = INSIDE.flatMap((folder) => [`${folder}runtime/`, `${folder}testing/`]);

/** Global names that may not be used at all. */
const GLOBALS = new Set(["setTimeout", "setInterval", "setImmediate", "fetch", "console"]);

/** Members of global objects. */
const MEMBERS = new Map([
  ["Date", new Set(["now"])],
  ["Math", new Set(["random"])],
  ["performance", new Set(["now", "timeOrigin"])],
  ["crypto", new Set(["randomUUID", "getRandomValues"])],
  ["process", new Set(["hrtime", "env", "uptime"])],
]);

/** Modules that export the same; `*` means every name. */
const MODULES = new Map([
  ["timers", new Set(["*"])],
  ["timers/promises", new Set(["*"])],
  ["perf_hooks", new Set(["*"])],
  ["http", new Set(["*"])],
  ["https", new Set(["*"])],
  ["net", new Set(["*"])],
  [
    "crypto",
    new Set(["default", "randomUUID", "randomBytes", "randomInt", "randomFill", "randomFillSync", "webcrypto"]),
  ],
]);

/** @param {readonly Source[]} sources @returns {readonly Finding[]} */
export function worldFindings(sources) {
  return sources.filter(({ path }) => isInside(path)).flatMap((source) => findingsIn(source));
}

/** @param {string} path */
function isInside(path) {
  if (!INSIDE.some((folder) => path.startsWith(folder)) || !isCode(path) || isTest(path)) return false;
  return !EXEMPT.some((folder) => path.startsWith(folder));
}

/** @param {Source} source @returns {readonly Finding[]} */
function findingsIn({ path, text }) {
  const used = [...descendants(parse(path, text))].flatMap((place) => {
    const name = forbiddenUse(place);
    return name === null ? [] : [{ name, line: lineOf(text, place.node.start) }];
  });
  const imported = readModule(path, text).imports.flatMap(({ specifier, names, line }) =>
    forbiddenImports(specifier, names).map((name) => ({ name, line })),
  );
  return [...used, ...imported].map(({ name, line }) => ({
    path,
    line,
    text: `uses ${name}; only runtime/ and testing/ may: take it as a parameter`,
  }));
}

/**
 * The forbidden name that this node uses, or null.
 *
 * @param {{ node: Node, parent: Node, key: string }} place
 */
function forbiddenUse({ node, parent, key }) {
  const callee = nameOf(node.callee);
  if (node.type === "NewExpression" && callee === "Date" && isEmpty(node.arguments)) return "new Date()";
  if (node.type === "CallExpression" && callee === "Date") return "Date()";
  if (node.type === "MemberExpression") {
    const object = nameOf(node.object);
    const property = nameOf(node.property);
    if (object === "globalThis" && (GLOBALS.has(property) || MEMBERS.has(property))) return `globalThis.${property}`;
    return MEMBERS.get(object)?.has(property) ? `${object}.${property}` : null;
  }
  return node.type === "Identifier" && GLOBALS.has(nameOf(node)) && isReference(parent, key) ? nameOf(node) : null;
}

/** @param {unknown} value */
function isEmpty(value) {
  return Array.isArray(value) && value.length === 0;
}

/**
 * True if an identifier at `key` of `parent` refers to a variable. False if it names a member or an import.
 *
 * @param {Node} parent
 * @param {string} key
 */
function isReference(parent, key) {
  if (parent.type === "ImportSpecifier") return false;
  return (key !== "property" && key !== "key") || parent.computed === true;
}

/** @param {string} specifier @param {readonly string[]} names @returns {readonly string[]} */
function forbiddenImports(specifier, names) {
  const module = specifier.replace(/^node:/, "");
  const forbidden = MODULES.get(module);
  if (forbidden === undefined) return [];
  if (forbidden.has("*") || names.includes("*")) return [`the module ${module}`];
  return names.filter((name) => forbidden.has(name)).map((name) => `${name} of ${module}`);
}

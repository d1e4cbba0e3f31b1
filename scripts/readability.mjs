import { posix } from "node:path";
import { isTest } from "./sources.mjs";
import { descendants, lineOf, nameOf, parse, readModule } from "./syntax.mjs";

/**
 * Checks the rules of CONTRIBUTING about file names, small files and test titles.
 *
 * @import { Finding, Source } from "./sources.mjs"
 */

/** Files below this many lines with one importer are fragments. */
const FRAGMENT_LINES = 40;

/** The maximum number of fragments, by package. */
const FRAGMENTS_MAX = new Map([
  ["packages/core", 24],
  ["packages/bpmn", 9],
]);

/** Folders whose small files are members of a family with predictable names. */
const FAMILIES = /\/(?:ops|builtins)\//;

/** Folders with parallel parts of the same name, one for each store or driver. */
const SIBLINGS = /\/(?:store|host|testing\/store-contract|testing\/driver-contract)\//;

/** Test titles must not begin with these words. */
const TITLE = /^(?:that|what|of|and|whose|who|with)\b/i;

/** Files with the cases of a contract suite, whose titles are the `name` of each case. */
const CASES = /-cases\.ts$/;

/**
 * Checks `it` and `test` in every code file, because shared suites call them outside test files, and the cases of contract suites.
 *
 * @param {readonly Source[]} sources
 * @returns {readonly Finding[]}
 */
export function titleFindings(sources) {
  return sources
    .filter(({ path }) => path.endsWith(".ts"))
    .flatMap(({ path, text }) =>
      titles(path, text)
        .filter(({ title }) => TITLE.test(title))
        .map(({ title, line }) => ({ path, line, text: `test title begins with a relative word: ${title}` })),
    );
}

/** The titles of `it` and `test`, and of contract cases. @param {string} path @param {string} text */
function titles(path, text) {
  /** @type {{ title: string, line: number }[]} */
  const found = [];
  for (const { node } of descendants(parse(path, text))) {
    const titled = /** @type {any} */ (titledBy(path, node));
    const title = titled?.type === "TemplateLiteral" ? titled.quasis[0].value.raw : nameOf(titled);
    if (typeof title === "string" && title !== "") found.push({ title, line: lineOf(text, titled.start) });
  }
  return found;
}

/** The title that a node gives to a test, if any. @param {string} path @param {any} node */
function titledBy(path, node) {
  if (node.type === "CallExpression" && isTestCall(node.callee)) return node.arguments[0];
  if (node.type !== "ObjectExpression" || !CASES.test(path)) return undefined;
  const property = (/** @type {string} */ name) =>
    node.properties.find((/** @type {any} */ each) => nameOf(each.key) === name);
  return property("run") === undefined ? undefined : property("name")?.value;
}

/** `it(…)`, `test(…)`, `it.each(…)(…)`, `it.skip(…)`. @param {any} callee @returns {boolean} */
function isTestCall(callee) {
  if (callee.type === "Identifier") return callee.name === "it" || callee.name === "test";
  if (callee.type === "MemberExpression") return isTestCall(callee.object);
  return callee.type === "CallExpression" && isTestCall(callee.callee);
}

/** @param {readonly Source[]} sources @returns {readonly Finding[]} */
export function nameFindings(sources) {
  /** @type {Map<string, string>} */
  const first = new Map();
  return productCode(sources).flatMap(({ path }) => {
    const name = posix.basename(path);
    if (name === "index.ts" || SIBLINGS.test(path)) return [];
    const key = `${packageOf(path)}/${name}`;
    const other = first.get(key);
    if (other === undefined) first.set(key, path);
    return other === undefined ? [] : [{ path, line: 1, text: `has the same file name as ${other}` }];
  });
}

/** @param {readonly Source[]} sources @returns {readonly Finding[]} */
export function topFindings(sources) {
  const top = sources.filter(({ path }) => /^packages\/core\/src\/[^/]+\.ts$/.test(path));
  return top.slice(3).map(({ path }) => ({ path, line: 1, text: "is at the top of the core; move it into a folder" }));
}

/** @param {readonly Source[]} sources @returns {readonly Finding[]} */
export function fragmentFindings(sources) {
  const code = productCode(sources);
  const importers = importersOf(code);
  return [...FRAGMENTS_MAX].flatMap(([name, max]) => {
    const fragments = code.filter(
      ({ path, text }) =>
        packageOf(path) === name &&
        !FAMILIES.test(path) &&
        !path.endsWith("/index.ts") &&
        text.trimEnd().split("\n").length < FRAGMENT_LINES &&
        (importers.get(path)?.size ?? 0) === 1,
    );
    if (fragments.length <= max) return [];
    const text = `is one of ${fragments.length} files of fewer than ${FRAGMENT_LINES} lines with one importer; ${name} may have ${max}`;
    return fragments.map(({ path }) => ({ path, line: 1, text }));
  });
}

/** By path, the files that import it. @param {readonly Source[]} sources */
function importersOf(sources) {
  /** @type {Map<string, Set<string>>} */
  const importers = new Map();
  for (const { path, text } of sources) {
    for (const { specifier } of readModule(path, text).imports) {
      if (!specifier.startsWith(".")) continue;
      const target = posix.join(posix.dirname(path), specifier);
      importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  return importers;
}

/** @param {readonly Source[]} sources */
function productCode(sources) {
  return sources.filter(({ path }) => /^packages\/[^/]+\/src\/.*\.ts$/.test(path) && !isTest(path));
}

/** @param {string} path */
function packageOf(path) {
  return path.split("/").slice(0, 2).join("/");
}

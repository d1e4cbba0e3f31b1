import { posix } from "node:path";
import { fencedBlocks } from "./markdown.mjs";
import { descendants, nameOf, nodesUnder, parse, readModule } from "./syntax.mjs";

/**
 * Turns the `ts` blocks of a page into scripts.
 *
 * D1. A line of a script has the same line number as on the page, so positions of compiler errors and stack traces are those of the page.
 * D2. Blocks are joined in order. A block that starts with `// file: name.ts` goes to that file. A name that an earlier block
 *     imported may be imported again.
 * D3. A block marked `no-run` is compiled in a separate scope after the blocks before it, and is not executed.
 * D4. A file is executed unless another file of its page imports it.
 * D5. A `text` block right after a `ts` block is the expected output of that block.
 *
 * @import { Block } from "./markdown.mjs"
 * @import { Node } from "./syntax.mjs"
 *
 * @typedef {object} Expectation
 * @property {string} marker The line that the script prints before the block.
 * @property {number} line
 * @property {string} text
 *
 * @typedef {object} Script
 * @property {string} name
 * @property {string} text
 * @property {boolean} executed
 * @property {readonly Expectation[]} expectations
 *
 * @typedef {{ readonly block: Block, readonly file: string, readonly run: boolean, readonly prints: string | null }} Part
 */

const MAIN = "page.ts";
const MARKER = "--- block at line ";

/** @param {string} text @returns {readonly Script[]} */
export function scriptsOf(text) {
  const parts = partsOf(text);
  const files = [...new Set(parts.filter((part) => part.run).map((part) => part.file))];
  const checked = [...new Set(parts.filter((part) => !part.run).map((part) => part.file))];
  const run = files.map((file) =>
    script(
      file,
      parts.filter((part) => part.file === file && part.run),
    ),
  );
  const imported = new Set(run.flatMap(({ name, text: code }) => importedFiles(name, code)));
  return [
    ...run.map((each) => ({ ...each, executed: !imported.has(each.name) })),
    ...checked.map((file) =>
      script(
        checkedName(file, files),
        parts.filter((part) => part.file === file),
      ),
    ),
  ];
}

/** A file without executed blocks keeps its name, so that others can import it. @param {string} file @param {readonly string[]} files */
function checkedName(file, files) {
  return file !== MAIN && !files.includes(file) ? file : file.replace(/\.ts$/, ".no-run.ts");
}

/** @param {string} text @returns {readonly Part[]} */
function partsOf(text) {
  const blocks = fencedBlocks(text);
  return blocks.flatMap((block, index) => {
    if (block.language !== "ts") return [];
    const next = blocks[index + 1];
    return [
      {
        block,
        file: fileOf(block),
        run: !block.words.includes("no-run"),
        prints: next?.language === "text" ? next.lines.join("\n") : null,
      },
    ];
  });
}

/** @param {Block} block */
function fileOf(block) {
  const named = /^\/\/ file: (\S+)$/.exec(block.lines[0]?.trim() ?? "")?.[1];
  if (named === undefined) return MAIN;
  const valid = /^[\w./-]+\.ts$/.test(named) && !named.startsWith("/") && !posix.normalize(named).startsWith("..");
  if (!valid) throw new Error(`line ${block.line + 1}: ${named} is not a file name inside the page's folder`);
  return posix.normalize(named);
}

/** @param {string} file @param {readonly Part[]} parts @returns {Script} */
function script(file, parts) {
  /** @type {string[]} */
  const lines = [];
  /** @type {Set<string>} */
  const imported = new Set();
  for (const { block, run } of parts) {
    const code = withoutRepeatedImports(block.lines.join("\n"), imported, block.line);
    while (lines.length < block.line - 1) lines.push("");
    const placed = run ? { before: `console.log("${MARKER}${block.line}");`, code, after: "" } : scoped(code);
    lines.push(placed.before, ...placed.code.split("\n"), placed.after);
  }
  return {
    name: file,
    text: lines.join("\n"),
    executed: false,
    expectations: parts.flatMap(({ block, prints }) =>
      prints === null ? [] : [{ marker: `${MARKER}${block.line}`, line: block.line, text: prints }],
    ),
  };
}

/** @param {string} code @param {number} line */
function programOf(code, line) {
  try {
    return parse("block.ts", code);
  } catch (error) {
    throw new Error(`the block at line ${line} is not TypeScript: ${String(error)}`, { cause: error });
  }
}

/**
 * Blanks the names that `imported` contains and adds the others to it. Line breaks stay (D1).
 *
 * @param {string} code
 * @param {Set<string>} imported
 * @param {number} line
 */
function withoutRepeatedImports(code, imported, line) {
  let left = code;
  for (const declaration of nodesUnder(programOf(code, line), "body").filter(isImport)) {
    const specifiers = nodesUnder(declaration, "specifiers");
    const repeated = specifiers.filter((specifier) => imported.has(nameOf(specifier.local)));
    if (repeated.length > 0 && repeated.length === specifiers.length) left = blanked(left, declaration);
    else for (const specifier of repeated) left = blanked(left, withComma(code, specifier));
    for (const specifier of specifiers) imported.add(nameOf(specifier.local));
  }
  return left;
}

/** @param {Node} node */
function isImport(node) {
  return node.type === "ImportDeclaration";
}

/** @param {string} code @param {{ readonly start: number, readonly end: number }} span */
function blanked(code, { start, end }) {
  return code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
}

/** @param {string} code @param {Node} specifier */
function withComma(code, specifier) {
  const comma = /^\s*,/.exec(code.slice(specifier.end))?.[0] ?? "";
  return { start: specifier.start, end: specifier.end + comma.length };
}

/**
 * A block in a separate scope, opened and closed on the lines of its fences. Imports go before it, exports become plain declarations.
 *
 * @param {string} code
 */
function scoped(code) {
  let left = code;
  const imports = [];
  for (const node of nodesUnder(parse("block.ts", code), "body")) {
    if (isImport(node)) {
      imports.push(code.slice(node.start, node.end).replace(/\s+/g, " "));
      left = blanked(left, node);
    } else if (node.type === "ExportNamedDeclaration") {
      const declaration = [...descendants(node)].find(({ key }) => key === "declaration")?.node;
      left = blanked(left, { start: node.start, end: declaration?.start ?? node.end });
    }
  }
  return { before: [...imports, "{"].join(" "), code: left, after: "}" };
}

/** @param {string} name @param {string} code @returns {readonly string[]} */
function importedFiles(name, code) {
  const relative = readModule(name, code).imports.filter(({ specifier }) => specifier.startsWith("."));
  return relative.map(({ specifier }) => posix.join(posix.dirname(name), specifier.replace(/\.js$/, ".ts")));
}

/**
 * The differences between the output of a script and the page, as sentences.
 *
 * @param {string} output
 * @param {readonly Expectation[]} expectations
 * @returns {readonly string[]}
 */
export function outputDifferences(output, expectations) {
  const printed = outputByMarker(output);
  return expectations.flatMap(({ marker, line, text }) => {
    const actual = printed.get(marker) ?? "";
    return actual === trimmed(text)
      ? []
      : [`the block at line ${line} should print\n${indented(trimmed(text))}\nand prints\n${indented(actual)}`];
  });
}

/** @param {string} output @returns {ReadonlyMap<string, string>} */
function outputByMarker(output) {
  /** @type {Map<string, string[]>} */
  const lines = new Map();
  let marker = "";
  for (const line of output.split(/\r?\n/)) {
    if (line.startsWith(MARKER)) marker = line;
    else lines.set(marker, [...(lines.get(marker) ?? []), line]);
  }
  return new Map([...lines].map(([key, value]) => [key, trimmed(value.join("\n"))]));
}

/** Without spaces at the ends of lines and empty lines at the end. @param {string} text */
function trimmed(text) {
  return text.replace(/[^\S\n]+$/gm, "").trimEnd();
}

/** @param {string} text */
function indented(text) {
  return text.replace(/^/gm, "  ");
}

import { posix } from "node:path";
import { isTest } from "./sources.mjs";
import { readModule } from "./syntax.mjs";

/**
 * Checks which folder may import which. `LAYERS` is the table of ARCHITECTURE.md as data; every other import is a finding.
 *
 * @import { Finding, Source } from "./sources.mjs"
 * @import { Module } from "./syntax.mjs"
 *
 * @typedef {object} Layer
 * @property {readonly string[]} imports Folders of the core, or single files of them.
 * @property {readonly string[]} modules Modules from outside the repository; `node:` allows every module of Node.
 *
 * @typedef {Source & { readonly module: Module }} File
 */

const CORE = "packages/core/src/";
/** Folders of the root that contain packages. Each other folder of the root is one package. */
const GROUPS = ["packages", "test"];
const STORE_INTERFACE = ["store/store.ts", "store/store-error.ts"];

/** By folder of the core; `.` is `index.ts`, the public API. @type {Readonly<Record<string, Layer>>} */
export const LAYERS = {
  model: { imports: [], modules: [] },
  runtime: { imports: [], modules: ["node:"] },
  rules: { imports: ["model"], modules: [] },
  store: { imports: ["model", "rules"], modules: ["node:", "@photostructure/sqlite", "@redis/client", "pg"] },
  coordinator: { imports: ["rules", ...STORE_INTERFACE, "runtime", "model"], modules: ["node:"] },
  workflow: { imports: ["model"], modules: ["node:"] },
  runner: { imports: ["workflow", ...STORE_INTERFACE, "runtime", "model"], modules: ["node:"] },
  eslint: { imports: [], modules: [] },
  worker: {
    imports: [
      "coordinator",
      "runner",
      "rules",
      ...STORE_INTERFACE,
      "runtime",
      "model",
      "engine/config.ts",
      "engine/events.ts",
    ],
    modules: ["node:"],
  },
  operator: {
    imports: ["worker", "runner", "rules", "store", "runtime", "model", "workflow", "coordinator", "engine"],
    modules: ["node:"],
  },
  engine: {
    imports: ["operator", "worker", "coordinator", "runner", "rules", "store", "runtime", "workflow", "model"],
    modules: ["node:"],
  },
  ".": {
    imports: [
      "model",
      "runtime",
      "rules",
      "store",
      "coordinator",
      "workflow",
      "runner",
      "worker",
      "operator",
      "engine",
    ],
    modules: ["node:"],
  },
  host: {
    imports: ["model", "runtime", "store", "workflow", "engine", "operator", "."],
    modules: [],
  },
  testing: {
    imports: [
      "model",
      "runtime",
      "rules",
      "store",
      "coordinator",
      "workflow",
      "runner",
      "worker",
      "operator",
      "engine",
      "host",
      ".",
    ],
    modules: ["node:"],
  },
};

/** The only modules of the core that other packages may import. */
export const ENTRIES = [
  "pawl",
  "pawl/eslint",
  "pawl/host",
  "pawl/sqlite",
  "pawl/postgres",
  "pawl/redis",
  "pawl/testing",
];

/** The files behind these entries. Only they may re-export. */
const ENTRY_FILES = [
  ...[
    "index.ts",
    "eslint/index.ts",
    "host/index.ts",
    "store/sqlite/index.ts",
    "store/postgres/index.ts",
    "store/redis/index.ts",
    "testing/index.ts",
  ].map((path) => `${CORE}${path}`),
  "packages/bpmn/src/index.ts",
];

/** @param {readonly Source[]} sources All code of the repository. @returns {readonly Finding[]} */
export function architectureFindings(sources) {
  const files = sources.map((source) => ({ ...source, module: readModule(source.path, source.text) }));
  const paths = new Set(files.map((file) => file.path));
  return [...files.flatMap((file) => [...importFindings(file, paths), ...exportFindings(file)]), ...cycles(files)];
}

/** @param {File} file @param {ReadonlySet<string>} paths @returns {readonly Finding[]} */
function importFindings(file, paths) {
  return file.module.imports.flatMap(({ specifier, line }) => {
    const reason = isRelative(specifier)
      ? relativeReason(file.path, resolved(file.path, specifier), paths)
      : moduleReason(file.path, specifier);
    return reason === null ? [] : [{ path: file.path, line, text: `imports ${specifier}: ${reason}` }];
  });
}

/** @param {string} specifier */
function isRelative(specifier) {
  return specifier.startsWith(".");
}

/** @param {string} from @param {string} specifier */
function resolved(from, specifier) {
  return posix.join(posix.dirname(from), specifier);
}

/** @param {string} from @param {string} to @param {ReadonlySet<string>} paths @returns {string | null} */
function relativeReason(from, to, paths) {
  if (!paths.has(to)) return "file not found; write its extension";
  if (isTest(to)) return "a test must not be imported";
  if (packageOf(from) !== packageOf(to)) return "import another package by its name";
  return from.startsWith(CORE) && !isTest(from) ? layerReason(from, to) : null;
}

/** @param {string} from @param {string} to @returns {string | null} */
function layerReason(from, to) {
  const layer = layerOf(from);
  const allowed = LAYERS[layer]?.imports;
  if (allowed === undefined) return `the folder ${layer}/ is not in the table of layers`;
  const target = layerOf(to);
  if (target === layer || allowed.includes(target) || allowed.includes(to.slice(CORE.length))) return null;
  return `${layer} may import ${allowed.length === 0 ? "no other folder" : allowed.join(", ")}`;
}

/** @param {string} from @param {string} specifier @returns {string | null} */
function moduleReason(from, specifier) {
  if (isTest(from)) return null;
  if (from.startsWith(CORE)) {
    const layer = layerOf(from);
    const allowed = LAYERS[layer]?.modules;
    if (allowed === undefined) return `the folder ${layer}/ is not in the table of layers`;
    const known = allowed.some((name) => specifier === name || (name === "node:" && specifier.startsWith(name)));
    return known ? null : `${layer} may import ${allowed.length === 0 ? "no module" : allowed.join(", ")}`;
  }
  const isCore = specifier === "pawl" || specifier.startsWith("pawl/");
  return isCore && !ENTRIES.includes(specifier) ? `the core's entries are ${ENTRIES.join(", ")}` : null;
}

/** The folder of the core that a file lies in. @param {string} path */
function layerOf(path) {
  const inside = path.slice(CORE.length);
  return inside.includes("/") ? inside.slice(0, inside.indexOf("/")) : ".";
}

/** `packages/core`, `test/sim`, `scripts`, … @param {string} path */
function packageOf(path) {
  const folders = path.split("/").slice(0, -1);
  return folders.slice(0, GROUPS.includes(folders[0] ?? "") ? 2 : 1).join("/");
}

/** @param {File} file @returns {readonly Finding[]} */
function exportFindings({ path, module }) {
  /** @param {readonly number[]} lines @param {string} text */
  const at = (lines, text) => lines.map((line) => ({ path, line, text }));
  return [
    ...(path.endsWith(".config.ts") ? [] : at(module.defaultExports, "default export; export a name instead")),
    ...(ENTRY_FILES.includes(path) ? [] : at(module.reExports, "re-export; import from the file that defines it")),
    ...(ENTRY_FILES.includes(path) ? at(module.starExports, "star export; list the names") : []),
  ];
}

/** One finding for each import that closes a cycle. @param {readonly File[]} files @returns {readonly Finding[]} */
function cycles(files) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  /** @type {Map<string, "open" | "done">} */
  const visited = new Map();
  /** @type {Finding[]} */
  const found = [];
  /** @param {string} path @param {readonly string[]} importers */
  const visit = (path, importers) => {
    visited.set(path, "open");
    for (const { specifier, line } of byPath.get(path)?.module.imports ?? []) {
      const target = resolved(path, specifier);
      if (!isRelative(specifier) || !byPath.has(target)) continue;
      const here = [...importers, path];
      if (visited.get(target) === "open") {
        found.push({
          path,
          line,
          text: `import cycle: ${[...here.slice(here.indexOf(target)), target].join(" → ")}`,
        });
      } else if (!visited.has(target)) visit(target, here);
    }
    visited.set(path, "done");
  };
  for (const { path } of files) if (!visited.has(path)) visit(path, []);
  return found;
}

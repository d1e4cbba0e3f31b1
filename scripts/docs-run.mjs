import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { outputDifferences, scriptsOf } from "./docs-page.mjs";
import { ROOT } from "./sources.mjs";

/**
 * Compiles and executes the scripts of pages, in a folder from which `pawl` can be imported.
 *
 * @import { Script } from "./docs-page.mjs"
 *
 * @typedef {object} Page
 * @property {string} path Relative to the root, with `/`.
 * @property {string} text
 *
 * @typedef {object} Workspace A folder with the compiled scripts of some pages.
 * @property {string} folder
 * @property {ReadonlyMap<string, readonly string[]>} diagnostics The compiler's messages, by the path of the page.
 */

const EXECUTION_MS_MAX = 60_000;
const TSC = join(ROOT, "node_modules", "typescript", "bin", "tsc");

/** README.md and all pages below docs/. @returns {readonly Page[]} */
export function readPages() {
  const docs = join(ROOT, "docs");
  const below = existsSync(docs) ? readdirSync(docs, { recursive: true, encoding: "utf8" }) : [];
  const paths = ["README.md", ...below.map((path) => `docs/${path.split(sep).join("/")}`).sort()];
  return paths
    .filter((path) => path.endsWith(".md") && existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** Builds the packages, so that pages import them as published. @returns {string} The compiler's output. */
export function buildCore() {
  return spawnSync(process.execPath, [TSC, "-b", "packages/bpmn"], { cwd: ROOT, encoding: "utf8" }).stdout;
}

/** @param {readonly Page[]} pages @returns {Workspace} */
export function compilePages(pages) {
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "docs-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(compilerConfig(folder)));
  for (const page of pages) {
    for (const { name, text } of scriptsOf(page.text)) {
      const path = join(folder, "src", folderOf(page), name);
      mkdirSync(dirname(path), { recursive: true });
      // The export makes a script without imports a module, so that its names do not collide with those of other scripts.
      writeFileSync(path, `${text}\nexport {};\n`);
    }
  }
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src", "none.ts"), "export {};\n");
  const compiled = spawnSync(process.execPath, [TSC, "-p", folder, "--pretty", "false"], {
    cwd: join(folder, "src"),
    encoding: "utf8",
  });
  return { folder, diagnostics: diagnosticsByPage(compiled.stdout + compiled.stderr, pages) };
}

/** @param {Workspace} workspace */
export function removeWorkspace(workspace) {
  rmSync(workspace.folder, { recursive: true, force: true });
}

/** @param {string} folder */
function compilerConfig(folder) {
  return {
    extends: relative(folder, join(ROOT, "tsconfig.base.json")).split(sep).join("/"),
    compilerOptions: {
      rootDir: "src",
      outDir: "out",
      composite: false,
      incremental: false,
      declaration: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      typeRoots: [join(ROOT, "node_modules", "@types")],
    },
    include: ["src"],
  };
}

/** @param {Page} page */
function folderOf(page) {
  return page.path.replace(/\.md$/, "").replaceAll("/", "__");
}

/**
 * Turns lines such as `docs__steps/page.ts(3,1): error …` into `docs/steps.md:3:1 error …`.
 *
 * @param {string} output
 * @param {readonly Page[]} pages
 */
function diagnosticsByPage(output, pages) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const line of output.split("\n").filter((each) => each.trim() !== "")) {
    const [, folder = "", , row = "", column = "", text = ""] =
      /^(\w[^/]*)\/(.+?)\((\d+),(\d+)\): (.*)$/.exec(line) ?? [];
    const page = pages.find((each) => folderOf(each) === folder);
    const key = page?.path ?? "";
    found.set(key, [...(found.get(key) ?? []), page === undefined ? line : `${page.path}:${row}:${column} ${text}`]);
  }
  return found;
}

/**
 * Executes the scripts of a page. Returns the errors, as sentences.
 *
 * @param {Workspace} workspace
 * @param {Page} page
 * @returns {Promise<readonly string[]>}
 */
export async function executePage(workspace, page) {
  const wrong = [...(workspace.diagnostics.get(page.path) ?? []), ...(workspace.diagnostics.get("") ?? [])];
  if (wrong.length > 0) return wrong;
  const findings = [];
  for (const script of scriptsOf(page.text).filter((each) => each.executed)) {
    findings.push(...(await executeScript(workspace, page, script)));
  }
  return findings;
}

/** @param {Workspace} workspace @param {Page} page @param {Script} script @returns {Promise<readonly string[]>} */
async function executeScript(workspace, page, script) {
  const path = join(workspace.folder, "out", folderOf(page), script.name.replace(/\.ts$/, ".js"));
  const cwd = mkdtempSync(join(workspace.folder, "cwd-"));
  const { code, output, errors } = await execute(path, cwd);
  const where = `${page.path} (${script.name})`;
  if (code === null) return [`${where} did not end within ${EXECUTION_MS_MAX / 1000} s:\n${output}${errors}`];
  if (code !== 0) return [`${where} ended with exit code ${code}:\n${output}${errors}`];
  return outputDifferences(output, script.expectations).map((text) => `${where}: ${text}`);
}

/** @param {string} path @param {string} cwd @returns {Promise<{ code: number | null, output: string, errors: string }>} */
function execute(path, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--unhandled-rejections=strict", "--enable-source-maps", path], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: EXECUTION_MS_MAX,
      killSignal: "SIGKILL",
    });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output, errors }));
  });
}

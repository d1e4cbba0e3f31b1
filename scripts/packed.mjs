import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownEnvironment } from "./node24.mjs";
import { ROOT } from "./sources.mjs";

/** Packs `pawl` and `@pawl/bpmn`, installs both in an empty folder, and compiles and executes a program that uses them. */

const CORE = join(ROOT, "packages", "core");
const BPMN = join(ROOT, "packages", "bpmn");
const folder = mkdtempSync(join(tmpdir(), "pawl-packed-"));

/** A command that takes longer fails. */
const TIMEOUT_MS = 240_000;

/** @param {string} file @param {readonly string[]} args @param {string} cwd */
function run(file, args, cwd) {
  const result = spawnSync(file, args, {
    cwd,
    env: ownEnvironment(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: TIMEOUT_MS,
  });
  console.log(`$ ${[file, ...args].join(" ")}`);
  if (result.status !== 0) console.log(`${result.stdout}${result.stderr}`);
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0) throw new Error(`${file} ${args.join(" ")} ended with exit code ${result.status}`);
  return result.stdout;
}

const CONSUMER = `
import { createBpmn, scriptEngine, scriptTasks, type Deployed } from "@pawl/bpmn";
import { createEngine, workflow } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import * as testing from "pawl/testing";

const greet = workflow("greet", async (ctx, name: string) => {
  const text = await ctx.step("compose", () => \`hello \${name}\`);
  return { text };
});

const engine = await createEngine({ store: sqliteStore("app.db"), workflows: [greet] });
const run = await engine.start(greet, "world", { id: "greeting" });
const result: { readonly text: string } = await run.result();
const scripts = scriptEngine();
const bpmn = await createBpmn({ engine, tasks: { scriptTask: scriptTasks(scripts) } });
const deployed: readonly Deployed[] = await bpmn.deploy(
  \`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:t"><process id="p" isExecutable="true">
   <startEvent id="s"/><scriptTask id="t" scriptFormat="javascript"><script>return { twice: variables.n * 2 }</script></scriptTask>
   <sequenceFlow id="f" sourceRef="s" targetRef="t"/></process></definitions>\`,
);
const done = await (await bpmn.start(deployed[0]?.process ?? "", { n: 21 })).result();
if (done.twice !== 42) throw new Error(\`unexpected: \${JSON.stringify(done)}\`);
await scripts.close();
await engine.shutdown();
if (result.text !== "hello world") throw new Error(\`unexpected: \${JSON.stringify(result)}\`);
if (Object.keys(testing).length === 0) throw new Error("pawl/testing exports nothing");
console.log("the packed packages executed a workflow and a process");
`;

const COMPILER_OPTIONS = {
  target: "es2022",
  lib: ["es2023"],
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // Checks the declarations too: they must not need types other than Node's.
  skipLibCheck: false,
  typeRoots: [join(ROOT, "node_modules", "@types")],
  types: ["node"],
};

function main() {
  const packed = [CORE, BPMN].map((cwd) => `./${pack(cwd)}`);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...packed], folder);
  for (const cwd of [CORE, BPMN]) {
    const { name, exports } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    for (const entry of Object.keys(exports)) {
      const attributes = entry.endsWith(".json") ? ', { with: { type: "json" } }' : "";
      const code = `await import("${name}${entry.slice(1)}"${attributes});`;
      run(process.execPath, ["--input-type=module", "-e", code], folder);
    }
  }
  checkDeclarations(join(folder, "node_modules"));
  writeFileSync(join(folder, "consumer.ts"), CONSUMER);
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ["consumer.ts"] }),
  );
  run(process.execPath, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "-p", "."], folder);
  console.log(run(process.execPath, ["--unhandled-rejections=strict", "consumer.js"], folder));
}

/** TypeScript 5.4, the oldest that the documentation names, knows no type argument of `Uint8Array`. @param {string} modules */
function checkDeclarations(modules) {
  for (const name of ["pawl", "@pawl/bpmn"]) {
    const paths = readdirSync(join(modules, name, "dist"), { recursive: true, encoding: "utf8" });
    for (const path of paths.filter((each) => each.endsWith(".d.ts"))) {
      const text = readFileSync(join(modules, name, "dist", path), "utf8");
      if (text.includes("Uint8Array<"))
        throw new Error(`${name}: ${path} needs TypeScript 5.7; declare the type of its bytes`);
    }
  }
}

/** @param {string} cwd @returns {string} The name of the packed file. */
function pack(cwd) {
  const packed = JSON.parse(run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], cwd));
  /** @type {{ filename: string, files: readonly { path: string }[] }} */
  const { filename, files } = packed[0];
  console.log(`${filename}: ${files.length} files`);
  checkFiles(files.map((file) => file.path));
  return filename;
}

/** @param {readonly string[]} paths */
function checkFiles(paths) {
  const unwanted = paths.filter((path) => /tsbuildinfo|\.test\.|\.test-d\./.test(path));
  if (unwanted.length > 0) throw new Error(`the package contains unwanted files: ${unwanted.join(", ")}`);
  const missing = ["LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"].filter((path) => !paths.includes(path));
  if (missing.length > 0) throw new Error(`the package lacks files: ${missing.join(", ")}`);
}

try {
  main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

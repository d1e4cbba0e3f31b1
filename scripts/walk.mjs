import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/**
 * Counts the files of the core that a run of one step on SQLite enters, from `start` to `result`, and those of the step alone, from the
 * call until its record is durable. A reader who follows a step reads these files. Measured with V8's precise coverage: a file
 * counts when one of its functions is called, in each of `REPEATS` measurements. A timer that fires during one of them does not count.
 *
 * `npm run walk` prints the numbers and fails above the maxima; `-- --files` prints the files too; `-- --root DIR` measures another
 * checkout.
 */

const RUN_FILES_MAX = 85;
const STEP_FILES_MAX = 60;
const REPEATS = 3;

const { values } = parseArgs({
  options: {
    files: { type: "boolean", default: false },
    root: { type: "string", default: fileURLToPath(new URL("../", import.meta.url)) },
  },
});
const dist = join(values.root, "packages", "core", "dist");
/** @param {string} path */
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const { createEngine, workflow } = await load("index.js");
const { sqliteStore } = await load("store/sqlite/index.js");

const folder = await mkdtemp(join(tmpdir(), "pawl-walk-"));
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The files with a function that was called since the last call of this. */
async function entered() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const prefix = pathToFileURL(dist).href;
  return result
    .filter(({ url, functions }) => url.startsWith(prefix) && functions.some(wasCalled))
    .map(({ url }) => relative(dist, fileURLToPath(url)).replace(/\.js$/, ".ts"))
    .sort();
}

/** The first function of a file is its top level. @param {{ functionName: string, ranges: { count: number, startOffset: number }[] }} function_ */
function wasCalled({ functionName, ranges }) {
  const [range] = ranges;
  return range !== undefined && range.count > 0 && !(functionName === "" && range.startOffset === 0);
}

/** The files that every measurement has. @param {readonly (readonly string[])[]} measurements */
function inEach([first = [], ...others]) {
  return first.filter((file) => others.every((other) => other.includes(file)));
}

const one = workflow("one", async (/** @type {any} */ ctx) => ctx.step("measured", () => 1));
/** @type {(readonly string[])[]} */
const ofStep = [];
const walk = workflow("walk", async (/** @type {any} */ ctx) => {
  for (let round = 0; round < REPEATS; round++) {
    await ctx.step("before", async () => void (await entered()));
    await ctx.step("measured", () => 1);
    // The body of a step starts when all earlier records are durable.
    await ctx.step("after", async () => void ofStep.push(await entered()));
  }
});

const engine = await createEngine({ store: sqliteStore(join(folder, "walk.db")), workflows: [one, walk] });
await (await engine.start(walk, null, { id: "walk" })).result();
await (await engine.start(one, null, { id: "warm" })).result();
/** @type {(readonly string[])[]} */
const ofRun = [];
for (let round = 0; round < REPEATS; round++) {
  await entered();
  await (await engine.start(one, null, { id: `one ${round}` })).result();
  ofRun.push(await entered());
}
await engine.shutdown();
rmSync(folder, { recursive: true, force: true });

const runFiles = inEach(ofRun);
const stepFiles = inEach(ofStep);
if (values.files)
  for (const file of runFiles) console.log(stepFiles.includes(file) ? file : `${file} (not for the step itself)`);
console.log(
  `a run of one step on SQLite enters ${runFiles.length} files from start to result, ${stepFiles.length} of them for the step itself`,
);
if (runFiles.length > RUN_FILES_MAX || stepFiles.length > STEP_FILES_MAX) {
  console.error(`the maxima are ${RUN_FILES_MAX} and ${STEP_FILES_MAX} files`);
  process.exitCode = 1;
}

import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine, type Engine, PawlError, type Store } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { type VirtualWorld, virtualWorld } from "pawl/testing";
import { openBpmn, outcome } from "./betsy-adapter.ts";
import { type Note, type Notes, Trace } from "./betsy-scripts.ts";
import { type BetsyCase, readBetsy } from "./betsy-suite.ts";

/**
 * The process that is killed. It executes cases, each on its own SQLite file, and continues where the previous process was killed. The
 * effects of scripts and the virtual time are in files beside the database.
 */

const LEASE_MS = 150;
const POLL_MS = 100;
const TAKE_OVER_MS = 300;
const STEP_MS = 500;
/** Longer than the longest timer of the suite. */
const PASSING_MS = 75_000;

/** The workflow of definition runs, which never end. */
const DEFINITION_WORKFLOW = "bpmn definition";

/** The JSON lines of a file. An incomplete last line, cut off by a kill, is ignored. */
function linesOf(path: string): readonly unknown[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
}

function notesIn(path: string): Notes {
  const all = linesOf(path) as Note[];
  return {
    all,
    add(note) {
      appendFileSync(path, `${JSON.stringify(note)}\n`);
      all.push(note);
    },
  };
}

async function startCase(engine: Engine, trace: Trace, xml: string, test: BetsyCase, world: VirtualWorld) {
  const bpmn = await openBpmn(engine, trace);
  await bpmn.deploy(xml);
  if (test.startParallelProcessFirst) {
    await bpmn.start("ParallelProcess", test.variables, { id: "parallel" }).catch(ignoreExisting);
    await world.settle();
  }
  await bpmn.start(test.processKey, test.variables, { id: "case" }).catch(ignoreExisting);
  return bpmn;
}

/** Ignores that an earlier process has started the run. */
function ignoreExisting(error: unknown): void {
  if (!(error instanceof PawlError) || error.code !== "RUN_EXISTS") throw error;
}

async function hasOpenRuns({ reader }: Store): Promise<boolean> {
  const { items } = await reader.list({ limit: 100 });
  const hasEnded = ({ status }: { readonly status: string }): boolean =>
    status === "completed" || status === "failed" || status === "cancelled";
  return items.some((item) => !hasEnded(item) && item.workflow !== DEFINITION_WORKFLOW);
}

async function run(folder: string, xml: string, test: BetsyCase): Promise<readonly string[]> {
  const clock = join(folder, "clock");
  const [first, ...later] = linesOf(clock) as readonly number[];
  const world = virtualWorld(first === undefined ? {} : { now: later.at(-1) ?? first });
  const until = (first ?? world.now()) + PASSING_MS;
  const tick = (): void => appendFileSync(clock, `${world.now() + STEP_MS}\n`);
  tick();
  const trace = new Trace(world, notesIn(join(folder, "notes")));
  const store = sqliteStore(join(folder, "case.db"));
  const engine = await createEngine({
    store,
    world,
    lease: LEASE_MS,
    poll: POLL_MS,
    claimsMax: 1_000,
    log: () => undefined,
  });
  try {
    await world.advance(TAKE_OVER_MS);
    const bpmn = await startCase(engine, trace, xml, test, world);
    // At least one step: a definition run that received a trigger may be the only open run.
    do {
      tick();
      await world.advance(STEP_MS);
    } while (world.now() < until && (await hasOpenRuns(store)));
    return await outcome(bpmn, engine.run("case"), trace, test);
  } catch (error) {
    if (error instanceof PawlError && error.code === "MODEL_INVALID") return ["ERROR_deployment"];
    throw error;
  } finally {
    await engine.shutdown({ drainMs: 0 });
  }
}

/** Executes a case unless its trace exists. The trace file is renamed into place, so it is always complete. */
async function runUnlessDone(suite: string, folder: string, name: string): Promise<void> {
  if (existsSync(join(folder, "trace"))) return;
  const [model = "", index = ""] = name.split("/");
  const found = readBetsy(suite).find((each) => each.name === model);
  const test = found?.testCases[Number(index)];
  if (found === undefined || test === undefined) throw new Error(`case ${name} not found`);
  mkdirSync(folder, { recursive: true });
  const trace = await run(folder, found.xml, test);
  writeFileSync(join(folder, "writing"), JSON.stringify(trace));
  renameSync(join(folder, "writing"), join(folder, "trace"));
}

const [suite = "", files = "", ...names] = process.argv.slice(2);
process.send?.("ready");
await Promise.all(names.map((name) => runUnlessDone(suite, join(files, name.replace("/", "-")), name)));
process.exit(0);

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { memoryStore, type Store } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { runBetsy } from "./betsy.ts";
import { runBetsyKilling } from "./betsy-kills.ts";
import { runMiwg } from "./miwg.ts";
import { runPublished } from "./published.ts";
import { OF_MIWG, PUBLISHED } from "./published-models.ts";
import { suiteFolder } from "./suites.ts";

/** `npm run conformance [-- --store sqlite] [--crashes] [--kills]`: executes public test models, unmodified. Missing suites are skipped with a message. */

const BETSY_MIN = 132;
const FLAWS_SHOWN = 10;
const options = readOptions();
const isSqlite = options.store === "sqlite";
const files = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
let opened = 0;

/** Unknown options are errors. */
function readOptions(): { readonly store: string; readonly crashes: boolean; readonly kills: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        store: { type: "string", default: "memory" },
        crashes: { type: "boolean", default: false },
        kills: { type: "boolean", default: false },
      },
    });
    if (values.store !== "memory" && values.store !== "sqlite")
      throw new Error(`--store must be memory or sqlite; got ${values.store}`);
    return values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n`);
    console.error("npm run conformance [-- --store memory|sqlite] [--crashes] [--kills]");
    return process.exit(2);
  }
}

function openStore(): Store {
  opened += 1;
  return isSqlite ? sqliteStore(join(files, `${opened}.db`), { synchronous: "NORMAL" }) : memoryStore();
}

async function betsy(): Promise<boolean> {
  const folder = suiteFolder("betsy");
  if (folder === null) {
    console.log("!! SKIPPED: betsy not found; set PAWL_CONFORMANCE to the folder of the suites");
    return true;
  }
  if (options.kills) return await killed(folder);
  const mode = options.crashes ? "crashing" : "plain";
  const { passed, failed, crashes } = await runBetsy(folder, openStore, mode);
  for (const { model, status, expected, trace } of failed) {
    console.log(`failed: ${model} (${status})\n  expected ${expected.join(" ")}\n  got      ${trace.join(" ")}`);
  }
  console.log(
    `betsy on ${isSqlite ? "sqlite" : "memory"}: ${passed} of ${passed + failed.length} cases passed, ${crashes} crashes`,
  );
  return passed >= BETSY_MIN;
}

/** Executes the cases on SQLite, in processes that are killed. */
async function killed(folder: string): Promise<boolean> {
  const { cases, kills, hits, different } = await runBetsyKilling(folder, files);
  for (const { name, plain, killed: trace } of different) {
    console.log(`different: ${name}\n  undisturbed ${plain.join(" ")}\n  killed      ${trace.join(" ")}`);
  }
  const same = `${cases - different.length} of ${cases} cases have the same trace`;
  console.log(`betsy on sqlite, killed: ${same}, ${kills} processes killed, with ${hits} running cases`);
  return different.length === 0;
}

async function miwg(): Promise<boolean> {
  const folder = suiteFolder("miwg");
  if (folder === null) {
    console.log("!! SKIPPED: MIWG not found; set PAWL_CONFORMANCE to the folder of the suites");
    return true;
  }
  const outcomes = await runMiwg(folder);
  const failed = outcomes.filter(({ flaws }) => flaws.length > 0);
  for (const { model, flaws } of failed) console.log(`failed: ${model}\n  ${flaws.slice(0, FLAWS_SHOWN).join("\n  ")}`);
  console.log(
    `MIWG: ${outcomes.length - failed.length} of ${outcomes.length} models are unchanged after reading and writing`,
  );
  return failed.length === 0;
}

/** Models as modelers save them, each with workers that crash. */
async function published(): Promise<boolean> {
  const models = [...PUBLISHED, ...(suiteFolder("miwg") === null ? [] : OF_MIWG)];
  let kills = 0;
  let passed = 0;
  for (const model of models) {
    try {
      const outcome = await runPublished(model, openStore(), { kills: true });
      kills += outcome.kills;
      if (isDeepStrictEqual(outcome.output, model.output)) passed += 1;
      else console.log(`failed: ${model.name}\n  got ${JSON.stringify(outcome.output)}`);
    } catch (error) {
      console.log(`failed: ${model.name}\n  ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  console.log(`published models: ${passed} of ${models.length} run to their ends, ${kills} workers crashed`);
  return passed === models.length;
}

try {
  const met = [await miwg(), await published(), await betsy()];
  if (met.includes(false)) process.exitCode = 1;
} finally {
  rmSync(files, { recursive: true, force: true });
}

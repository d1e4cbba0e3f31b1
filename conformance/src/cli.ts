import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore, type Store } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { runBetsy } from "./betsy.ts";
import { suiteFolder } from "./suites.ts";

/** `npm run conformance [-- --store sqlite] [--crashes]`: public test models, run unmodified. Where they are absent that is said, and nothing else. */

const BETSY_MIN = 130;
const isSqlite = process.argv.includes("sqlite");
const files = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
let opened = 0;

function openStore(): Store {
  opened += 1;
  return isSqlite ? sqliteStore(join(files, `${opened}.db`), { synchronous: "NORMAL" }) : memoryStore();
}

async function betsy(): Promise<boolean> {
  const folder = suiteFolder("betsy");
  if (folder === null) {
    console.log("!! SKIPPED: betsy is not here; name the folder of the suites in PAWL_CONFORMANCE");
    return true;
  }
  const mode = process.argv.includes("--crashes") ? "crashing" : "plain";
  const { passed, failed, crashes } = await runBetsy(folder, openStore, mode);
  for (const { model, status, expected, trace } of failed) {
    console.log(`failed: ${model} (${status})\n  expected ${expected.join(" ")}\n  got      ${trace.join(" ")}`);
  }
  console.log(
    `betsy on ${isSqlite ? "sqlite" : "memory"}: ${passed} of ${passed + failed.length} cases passed, ${crashes} crashes`,
  );
  return passed >= BETSY_MIN;
}

try {
  if (!(await betsy())) process.exitCode = 1;
} finally {
  rmSync(files, { recursive: true, force: true });
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTck, summary } from "./conformance/dmn.mjs";
import { ROOT } from "./sources.mjs";

/**
 * `npm run conformance [-- --data <folder>] [--verbose] [name…]` executes public test models, unmodified. The data is not part of the
 * repository. By default it is read from ../shared/conformance.
 */

/** By level, the share of cases that must pass. */
const PASSED_MIN = new Map([
  ["compliance-level-2", 1],
  ["compliance-level-3", 0.96],
]);

const args = process.argv.slice(2);
const dataAt = args.indexOf("--data");
const folders = ["../shared/conformance", "../../shared/conformance"].map((folder) => join(ROOT, folder));
const defaultFolder = process.env.PAWL_CONFORMANCE ?? folders.find((folder) => existsSync(folder)) ?? folders[0] ?? "";
const data = dataAt === -1 ? defaultFolder : (args[dataAt + 1] ?? "");
const names = args.filter((arg, i) => !arg.startsWith("--") && i !== dataAt + 1);
const isVerbose = args.includes("--verbose");
const tck = join(data, "dmn-tck");

if (!existsSync(tck)) console.log(`DMN TCK: skipped; ${tck} not found`);
else {
  const outcomes = runTck(tck, names);
  for (const { suite, id, flaw } of outcomes)
    if (flaw !== null) console.log(`${suite} ${id}: ${isVerbose ? flaw : flaw.slice(0, 160)}`);
  console.log(summary(outcomes));
  for (const [level, share] of PASSED_MIN) {
    const ofLevel = outcomes.filter((outcome) => outcome.level === level);
    const passed = ofLevel.filter(({ flaw }) => flaw === null).length;
    if (passed < ofLevel.length * share) process.exitCode = 1;
  }
}

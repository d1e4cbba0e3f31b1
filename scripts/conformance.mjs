import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTck, summary } from "./conformance/dmn.mjs";
import { ROOT } from "./sources.mjs";

/**
 * `npm run conformance [-- --data <folder>] [--verbose] [name…]`: public test models, run unmodified. The data lies beside
 * the repository, in ../shared/conformance, and is no part of it.
 */

/** Of each level: how many of the cases at hand have to pass. */
const PASSED_MIN = new Map([
  ["compliance-level-2", 1],
  ["compliance-level-3", 0.96],
]);

const args = process.argv.slice(2);
const dataAt = args.indexOf("--data");
const places = ["../shared/conformance", "../../shared/conformance"].map((place) => join(ROOT, place));
const beside = process.env.PAWL_CONFORMANCE ?? places.find((place) => existsSync(place)) ?? places[0] ?? "";
const data = dataAt === -1 ? beside : (args[dataAt + 1] ?? "");
const names = args.filter((arg, i) => !arg.startsWith("--") && i !== dataAt + 1);
const isVerbose = args.includes("--verbose");
const tck = join(data, "dmn-tck");

if (!existsSync(tck)) console.log(`DMN TCK: skipped, there is no ${tck}`);
else {
  const outcomes = runTck(tck, names);
  for (const { suite, id, flaw } of outcomes)
    if (flaw !== null) console.log(`${suite} ${id}: ${isVerbose ? flaw : flaw.slice(0, 160)}`);
  console.log(summary(outcomes));
  for (const [level, part] of PASSED_MIN) {
    const ofLevel = outcomes.filter((outcome) => outcome.level === level);
    const passed = ofLevel.filter(({ flaw }) => flaw === null).length;
    if (passed < ofLevel.length * part) process.exitCode = 1;
  }
}

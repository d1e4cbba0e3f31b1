import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTck, summary } from "./conformance/dmn.mjs";
import { ROOT } from "./sources.mjs";

/**
 * `npm run conformance [-- --data <folder>] [--verbose] [name…]`: public test models, run unmodified. The data lies beside
 * the repository, in ../shared/conformance, and is no part of it.
 */

/** Of all cases. */
const PASSED_MIN = 0.96;

const args = process.argv.slice(2);
const dataAt = args.indexOf("--data");
const beside = process.env.PAWL_CONFORMANCE ?? join(ROOT, "../shared/conformance");
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
  const passed = outcomes.filter(({ flaw }) => flaw === null).length;
  if (passed < outcomes.length * PASSED_MIN) process.exitCode = 1;
}

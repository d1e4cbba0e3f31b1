import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTck, summary } from "./conformance/dmn.mjs";
import { ROOT } from "./sources.mjs";

/**
 * `npm run conformance [-- --data <folder>] [--dmn] [--verbose] [name…]`: public test models, run unmodified. The data lies beside
 * the repository, in ../shared/conformance, and is no part of it.
 */

const args = process.argv.slice(2);
const dataAt = args.indexOf("--data");
const data = dataAt === -1 ? join(ROOT, "../shared/conformance") : (args[dataAt + 1] ?? "");
const names = args.filter((arg, i) => !arg.startsWith("--") && i !== dataAt + 1);
const isVerbose = args.includes("--verbose");
const tck = join(data, "dmn-tck");

if (!existsSync(tck)) console.log(`DMN TCK: skipped, there is no ${tck}`);
else {
  const outcomes = runTck(tck, names);
  for (const { suite, id, flaw } of outcomes)
    if (flaw !== null) console.log(`${suite} ${id}: ${isVerbose ? flaw : flaw.slice(0, 160)}`);
  console.log(summary(outcomes));
}

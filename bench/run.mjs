import { installPeers } from "./install.mjs";
import { OptionError, readOptions } from "./src/options.mjs";

/** The program: reads the options, installs the other engines, then loads the modules that measure, which import them. */

/** @param {readonly string[]} args */
function optionsOrExit(args) {
  try {
    return readOptions(args);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    return null;
  }
}

const options = optionsOrExit(process.argv.slice(2));
if (options === null) process.exit(2);
if (!(await installPeers())) process.exit(1);
const { measure } = await import("./src/main.mjs");
process.exitCode = await measure(options);

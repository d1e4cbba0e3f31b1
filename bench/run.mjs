import { installPeers } from "./install.mjs";
import { OptionError, readOptions } from "./src/options.mjs";

/** The program: what was asked, what is measured beside us, and then the measuring, whose modules need it. */

/** @param {readonly string[]} args */
function understood(args) {
  try {
    return readOptions(args);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    return null;
  }
}

const options = understood(process.argv.slice(2));
if (options === null) process.exit(2);
if (!(await installPeers())) process.exit(1);
const { measure } = await import("./src/main.mjs");
process.exitCode = await measure(options);

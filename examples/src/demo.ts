/** `npm run demo`: see `--help`. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { runDemo } from "./demo/demo-run.ts";
import { type DemoOptions, HELP, parseOptions } from "./demo/options.ts";

const options = parseOptions(process.argv.slice(2));
process.exitCode = await main(options);

async function main(options: DemoOptions | string): Promise<number> {
  if (typeof options === "string") {
    console.error(`${options}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  if (options.reset) {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${options.file}${suffix}`, { force: true });
    console.log(`deleted ${options.file}`);
    return 0;
  }
  mkdirSync(dirname(options.file), { recursive: true });
  console.log(`the state is in the file ${options.file}\n`);
  try {
    return await runDemo(options);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

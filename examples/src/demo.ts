/** `npm run demo`: see `--help`. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { runDemo } from "./demo/demo-run.ts";
import { type DemoOptions, HELP, parseOptions } from "./demo/options.ts";

const options = parseOptions(process.argv.slice(2));
process.exitCode = await main(options);

async function main(asked: DemoOptions | string): Promise<number> {
  if (typeof asked === "string") {
    console.error(`${asked}\n\n${HELP}`);
    return 2;
  }
  if (asked.help) {
    console.log(HELP);
    return 0;
  }
  if (asked.reset) {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${asked.file}${suffix}`, { force: true });
    console.log(`${asked.file} is deleted`);
    return 0;
  }
  mkdirSync(dirname(asked.file), { recursive: true });
  console.log(`the state is in the file ${asked.file}\n`);
  try {
    return await runDemo(asked);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

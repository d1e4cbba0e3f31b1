import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The command: installs what is measured beside us, if it is not there yet, and measures. */

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
if (!Object.keys(dependencies).every((name) => existsSync(new URL(`node_modules/${name}`, import.meta.url)))) {
  console.log("installing what is measured beside pawl…");
  const result = spawnSync("npm", ["install", "--loglevel=error"], {
    cwd: FOLDER,
    env: ownEnvironment(),
    stdio: "inherit",
  });
  if (result.status !== 0) process.exit(1);
}
const { main } = await import("./src/main.mjs");
process.exitCode = await main(process.argv.slice(2));

/** Without what an outer npm hands down: an npm in another folder must not take itself for a part of this one. */
function ownEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) && name !== "INIT_CWD"),
  );
}

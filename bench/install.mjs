import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Installs what is measured beside us, if it is not there yet. @returns {Promise<boolean>} False: npm failed, and said why. */
export async function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  if (Object.keys(dependencies).every((name) => existsSync(new URL(`node_modules/${name}`, import.meta.url))))
    return true;
  console.log("installing what is measured beside pawl…");
  // The lock names the packages of this repository with their dependencies: without --no-save it would be written whenever those change.
  const npm = spawn("npm", ["install", "--no-save", "--loglevel=error"], {
    cwd: FOLDER,
    env: ownEnvironment(),
    stdio: "inherit",
  });
  return await new Promise((resolve, reject) => {
    npm.on("error", reject);
    npm.on("exit", (code) => resolve(code === 0));
  });
}

/** Without what an outer npm hands down: an npm in another folder must not take itself for a part of this one. */
function ownEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) && name !== "INIT_CWD"),
  );
}

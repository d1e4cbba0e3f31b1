import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Installs the other engines unless they are installed. @returns {Promise<boolean>} False if npm failed; its output has the reason. */
export async function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
  if (Object.keys(dependencies).every((name) => existsSync(new URL(`node_modules/${name}`, import.meta.url))))
    return true;
  console.log("installing the other engines…");
  // The lock file contains the packages of this repository with their dependencies. Without --no-save npm would rewrite it when those change.
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

/** The environment without the variables of an outer npm. They would apply this folder's settings to an npm in another folder. */
function ownEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) && name !== "INIT_CWD"),
  );
}

import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/** Prepares the current package folder for packing. The arguments are files of the root to copy into it. */

for (const name of process.argv.slice(2)) {
  if (existsSync(join(ROOT, name))) copyFileSync(join(ROOT, name), name);
}

// The compiler does not remove the output of deleted source files.
for (const path of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const source = path.replace(/\.(?:d\.ts|js|js\.map)$/, ".ts");
  if (source !== path && !existsSync(join("src", source))) rmSync(join("dist", path));
}

import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/** Makes the package folder in which npm runs this ready to be packed; its arguments are files of the root that it shares. */

for (const name of process.argv.slice(2)) {
  if (existsSync(join(ROOT, name))) copyFileSync(join(ROOT, name), name);
}

// The compiler leaves what it made of a file that has been removed since.
for (const path of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const source = path.replace(/\.(?:d\.ts|js|js\.map)$/, ".ts");
  if (source !== path && !existsSync(join("src", source))) rmSync(join("dist", path));
}

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./sources.mjs";

/**
 * Embeds the Lua files of the Redis store in a TypeScript module, so that the package needs no files besides compiled code.
 * `npm run lua` writes the module; `npm run check` fails if it is not current.
 *
 * @import { Finding } from "./sources.mjs"
 */

const FOLDER = "packages/core/src/store/redis/script";
const TARGET = `${FOLDER}/lua-sources.ts`;

/** The text of the module. */
function embedded() {
  const files = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".lua"));
  const parts = files.sort().map((name) => {
    const text = readFileSync(join(ROOT, FOLDER, name), "utf8").replaceAll(/[\\`]|\$\{/g, "\\$&");
    return `  /** \`${name}\` */\n  ${camelCase(name.slice(0, -".lua".length))}: \`${text}\`,\n`;
  });
  return `/** The Lua files of this folder. Written by \`npm run lua\`; do not edit. */\nexport const LUA = {\n${parts.join("")}};\n`;
}

/** @param {string} name */
function camelCase(name) {
  return name.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());
}

/** @returns {readonly Finding[]} */
export function luaFindings() {
  if (readFileSync(join(ROOT, TARGET), "utf8") === embedded()) return [];
  return [{ path: TARGET, line: 1, text: "differs from the Lua files; run npm run lua" }];
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1]) {
  writeFileSync(join(ROOT, TARGET), embedded());
}

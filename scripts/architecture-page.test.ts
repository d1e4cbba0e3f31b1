import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, repositoryPaths } from "./sources.mjs";

const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const core = repositoryPaths().filter((path) => path.startsWith("packages/core/src/"));

test("ARCHITECTURE.md names every folder of the core", () => {
  const folders = new Set(core.map((path) => path.split("/")[3] ?? "").filter((name) => !name.includes(".")));
  expect([...folders].filter((name) => !page.includes(`[${name}](packages/core/src/${name})`))).toEqual([]);
});

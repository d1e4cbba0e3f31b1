import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isCode, isTest, ROOT, readSources, repositoryPaths } from "./sources.mjs";

const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const core = repositoryPaths().filter((path) => path.startsWith("packages/core/src/"));

test("ARCHITECTURE.md lists the invariants of every file of the core that states some", () => {
  const stated = readSources(core.filter((path) => isCode(path) && !isTest(path))).flatMap(({ path, text }) => {
    const letter = /^ \* ([A-Z])1\. /m.exec(text)?.[1];
    return letter === undefined ? [] : [`| ${letter} | [${path.split("/").at(-1)}](${path})`];
  });
  expect(stated.length).toBeGreaterThan(5);
  expect(stated.filter((row) => !page.includes(row))).toEqual([]);
});

test("ARCHITECTURE.md names every folder of the core", () => {
  const folders = new Set(core.map((path) => path.split("/")[3] ?? "").filter((name) => !name.includes(".")));
  expect([...folders].filter((name) => !page.includes(`[${name}](packages/core/src/${name})`))).toEqual([]);
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { lint } from "./linting.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const filesBelow = (folder: string, ending: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending) && !path.includes("node_modules"))
    .map((path) => join(folder, path));

/** The programs of a page: its joined blocks, and each named file. */
function programsOf(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^```ts\b[^\n]*\n(.*?)^```/gms)].map(([, text = ""]) => text);
  const named = blocks.filter((text) => text.startsWith("// file:"));
  return [blocks.filter((text) => !named.includes(text)).join("\n"), ...named];
}

/** Its faults are intended. */
const FAULTY = join("examples/src", "explore", "faulty.ts");

const programs: readonly (readonly [string, string])[] = [
  ...filesBelow("examples/src", ".ts")
    .filter((path) => path !== FAULTY)
    .map((path) => [path, readFileSync(join(ROOT, path), "utf8")] as const),
  ...["README.md", ...filesBelow("docs", ".md")].flatMap((path) =>
    programsOf(readFileSync(join(ROOT, path), "utf8")).map((text, n) => [`${path} ${n}`, text] as const),
  ),
];

/** A statement that awaits an operation and ignores its result. */
const AWAITED = /^(\s*)await ctx\.(step|sleep|join|listen)\(/m;

describe("lint rules on examples and pages", () => {
  it.each(programs)("the lint rules find nothing in %s", (_name, text) => {
    expect(lint(text, "ts")).toEqual([]);
  });

  it.each(programs.filter(([name, text]) => AWAITED.test(text) && !name.includes("linting")))(
    "the lint rules find a removed await in %s",
    (_name, text) => {
      const rules = lint(text.replace(AWAITED, "$1ctx.$2("), "ts").map(({ rule }) => rule);
      expect(rules).toEqual(["pawl/await-ctx"]);
    },
  );

  it("more than 30 programs contain workflows", () => {
    expect(programs.filter(([, text]) => text.includes("workflow(")).length).toBeGreaterThan(30);
  });
});

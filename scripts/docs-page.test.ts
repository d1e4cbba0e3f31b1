import { describe, expect, test } from "vitest";
import { outputDifferences, scriptsOf } from "./docs-page.mjs";
import { fencedBlocks } from "./markdown.mjs";

function page(...lines: string[]): string {
  return lines.join("\n");
}

describe("the blocks of a page", () => {
  test("a fenced block has a language, words, a line and its text", () => {
    expect(fencedBlocks(page("# A", "", "```ts no-run", "a();", "```", "~~~sh", "ls", "~~~"))).toEqual([
      { language: "ts", words: ["no-run"], line: 3, lines: ["a();"] },
      { language: "sh", words: [], line: 6, lines: ["ls"] },
    ]);
  });

  test("a fenced block may be indented and contain shorter fences", () => {
    expect(fencedBlocks(page("- x", "  ````md", "  ```ts", "    a();", "  ```", "  ````"))).toEqual([
      { language: "md", words: [], line: 2, lines: ["```ts", "  a();", "```"] },
    ]);
  });

  test("a block without a closing fence throws", () => {
    expect(() => fencedBlocks(page("```ts", "a();"))).toThrow("line 1: the block has no closing fence");
  });
});

describe("the scripts of a page", () => {
  test("a page without ts blocks has no scripts", () => {
    expect(scriptsOf("# A\n\ntext")).toEqual([]);
    expect(scriptsOf(page("```sh", "rm -rf x", "```"))).toEqual([]);
  });

  test("blocks are joined in order, each at its line of the page", () => {
    const [script, ...others] = scriptsOf(page("# A", "```ts", "const a = 1;", "```", "text", "```ts", "a;", "```"));
    expect(others).toEqual([]);
    expect(script).toMatchObject({ name: "page.ts", executed: true, expectations: [] });
    const lines = script?.text.split("\n") ?? [];
    expect(lines[2]).toBe("const a = 1;");
    expect(lines[6]).toBe("a;");
  });

  test("a name that two blocks import is imported once", () => {
    const [script] = scriptsOf(
      page(
        "```ts",
        'import { a, b } from "x";',
        "```",
        "```ts",
        'import { b, c } from "x";',
        'import { a } from "x";',
        "```",
      ),
    );
    const lines = script?.text.split("\n").map((line) => line.replace(/\s+/g, " ").trim()) ?? [];
    expect(lines[1]).toBe('import { a, b } from "x";');
    expect(lines.slice(4, 6)).toEqual(['import { c } from "x";', ""]);
  });

  test("a named file is a separate script, executed unless another file imports it", () => {
    const scripts = scriptsOf(
      page(
        "```ts",
        "// file: src/a.ts",
        "export const a = 1;",
        "```",
        "```ts",
        'import { a } from "./src/a.ts";',
        "a;",
        "```",
      ),
    );
    expect(scripts.map(({ name, executed }) => ({ name, executed }))).toEqual([
      { name: "src/a.ts", executed: false },
      { name: "page.ts", executed: true },
    ]);
  });

  test("a named file outside of the page's folder throws", () => {
    expect(() => scriptsOf(page("```ts", "// file: ../a.ts", "```"))).toThrow("line 2: ../a.ts is not a file name");
  });

  test("a block marked no-run is only compiled, in its own scope, after the blocks before it", () => {
    const scripts = scriptsOf(
      page("```ts", "const a = 1;", "```", "```ts no-run", 'import { b } from "x";', "export const a = b;", "```"),
    );
    expect(scripts.map(({ name, executed }) => ({ name, executed }))).toEqual([
      { name: "page.ts", executed: true },
      { name: "page.no-run.ts", executed: false },
    ]);
    expect(scripts[0]?.text).not.toContain("b;");
    const lines = scripts[1]?.text.split("\n").map((line) => line.trim()) ?? [];
    expect(lines.slice(1)).toEqual(["const a = 1;", "", 'import { b } from "x"; {', "", "const a = b;", "}"]);
  });

  test("a block that is not TypeScript throws with its line", () => {
    expect(() => scriptsOf(page("text", "```ts", "const = ;", "```"))).toThrow("the block at line 2 is not TypeScript");
  });
});

describe("expected output", () => {
  const [script] = scriptsOf(
    page(
      "```ts",
      "one();",
      "```",
      "```text",
      "1",
      "",
      "one ",
      "```",
      "```ts",
      "two();",
      "```",
      "```ts",
      "x();",
      "```",
      "```text",
      "3",
      "```",
    ),
  );
  const expectations = script?.expectations ?? [];
  const [first = "", third = ""] = expectations.map(({ marker }) => marker);

  test("the expected output belongs to the block right before it", () => {
    expect(expectations.map(({ line, text }) => ({ line, text }))).toEqual([
      { line: 1, text: "1\n\none " },
      { line: 12, text: "3" },
    ]);
    expect(script?.text).toContain(first);
  });

  test("output is compared block by block, without trailing spaces", () => {
    const middle = "--- block at line 9";
    expect(outputDifferences(page(first, "1", "", "one", middle, "anything", third, "3", ""), expectations)).toEqual(
      [],
    );
    expect(outputDifferences(page(first, "1", "", "one", middle, "anything", third, "4", ""), expectations)).toEqual([
      "the block at line 12 should print\n  3\nand prints\n  4",
    ]);
    expect(outputDifferences("", expectations)).toHaveLength(2);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCore, compilePages, executePage, readPages, removeWorkspace } from "./docs-run.mjs";

type Workspace = ReturnType<typeof compilePages>;

describe("the code of every page prints the output on the page", () => {
  const pages = readPages();
  let workspace: Workspace;
  beforeAll(() => {
    buildCore();
    workspace = compilePages(pages);
  }, 120_000);
  afterAll(() => removeWorkspace(workspace));

  test("the compiler reports no error outside of the pages", () => {
    expect(workspace.diagnostics.get("") ?? []).toEqual([]);
  });

  for (const page of pages) {
    test(page.path, async () => expect(await executePage(workspace, page)).toEqual([]), 120_000);
  }
});

describe("pages with wrong code", () => {
  function made(name: string, ...lines: string[]): { readonly path: string; readonly text: string } {
    return { path: `made-up/${name}.md`, text: lines.join("\n") };
  }
  const right = made("right", "# A", "```ts", "const a: number = 1;", "console.log(a);", "```", "```text", "1", "```");
  const type = made("type", "# A", "", "```ts no-run", "const a: string = 1;", "```");
  const exit = made("exit", "```ts", 'await Promise.reject(new Error("oh"));', "```");
  const prints = made("prints", "```ts", "console.log(2);", "```", "", "```text", "1", "```");
  const two = made(
    "two",
    "```ts",
    "// file: b.ts",
    "export const b = 2;",
    "```",
    "```ts",
    'import { b } from "./b.ts";',
    "console.log(b);",
    "```",
    "```text",
    "2",
    "```",
  );
  const pages = [right, type, exit, prints, two];
  let workspace: Workspace;
  beforeAll(() => {
    workspace = compilePages(pages);
  }, 120_000);
  afterAll(() => removeWorkspace(workspace));

  test("a page with a type error fails with the line of the page", async () => {
    expect(await executePage(workspace, type)).toEqual([
      "made-up/type.md:4:7 error TS2322: Type 'number' is not assignable to type 'string'.",
    ]);
  });

  test("a page whose script exits with a code other than 0 fails", async () => {
    expect((await executePage(workspace, exit))[0]).toMatch(/^made-up\/exit.md \(page.ts\) ended with exit code 1:/);
  });

  test("a page whose script prints other output fails", async () => {
    expect(await executePage(workspace, prints)).toEqual([
      "made-up/prints.md (page.ts): the block at line 1 should print\n  1\nand prints\n  2",
    ]);
  });

  test("a correct page passes beside pages that fail", async () => {
    expect(await executePage(workspace, right)).toEqual([]);
    expect(await executePage(workspace, two)).toEqual([]);
  });
});

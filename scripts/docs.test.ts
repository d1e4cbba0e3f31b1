import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCore, compilePages, executePage, readPages, removeWorkspace } from "./docs-run.mjs";

type Workspace = ReturnType<typeof compilePages>;

describe("the code on every page runs and prints what the page says", () => {
  const pages = readPages();
  let workspace: Workspace;
  beforeAll(() => {
    buildCore();
    workspace = compilePages(pages);
  }, 120_000);
  afterAll(() => removeWorkspace(workspace));

  test("nothing but the pages is complained about", () => {
    expect(workspace.diagnostics.get("") ?? []).toEqual([]);
  });

  for (const page of pages) {
    test(page.path, async () => expect(await executePage(workspace, page)).toEqual([]), 120_000);
  }
});

describe("a page whose code is wrong fails", () => {
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

  test("by its types, with the line of the page", async () => {
    expect(await executePage(workspace, type)).toEqual([
      "made-up/type.md:4:7 error TS2322: Type 'number' is not assignable to type 'string'.",
    ]);
  });

  test("by its exit code", async () => {
    expect((await executePage(workspace, exit))[0]).toMatch(/^made-up\/exit.md \(page.ts\) ended with exit code 1:/);
  });

  test("by what it prints", async () => {
    expect(await executePage(workspace, prints)).toEqual([
      "made-up/prints.md (page.ts): the block at line 1 should print\n  1\nand prints\n  2",
    ]);
  });

  test("and a right one beside it does not", async () => {
    expect(await executePage(workspace, right)).toEqual([]);
    expect(await executePage(workspace, two)).toEqual([]);
  });
});

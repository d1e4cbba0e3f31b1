import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** A reference of the table of behaviours: `file`: “title”. */
const REFERENCE = /`([\w./-]+)`: “([^”]+)”/g;

/** References of a page that match no test. Its files are below `root`. `read` returns the text of a test file, or null. */
function broken(page: string, read: (path: string) => string | null, root = "packages/core/src"): readonly string[] {
  return [...page.matchAll(REFERENCE)].flatMap(([, file = "", title = ""]) => {
    const text = read(`${root}/${file}.test.ts`);
    return text?.includes(`("${title}"`) || text?.includes(`"${title}",`) ? [] : [`${file}: ${title}`];
  });
}

test("every test that docs/behaviours.md names exists", () => {
  const page = readFileSync("docs/behaviours.md", "utf8");
  expect([...page.matchAll(REFERENCE)].length).toBeGreaterThan(80);
  expect(broken(page, textOf)).toEqual([]);
});

test("every test that docs/origin.md names exists", () => {
  const page = readFileSync("docs/origin.md", "utf8");
  expect([...page.matchAll(REFERENCE)].length).toBeGreaterThan(50);
  expect(broken(page, textOf, "packages")).toEqual([]);
});

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

test("a reference to a missing test is found", () => {
  const page = "| a | `x`: “is there”<br>`x`: “is not” |\n| b | `y`: “is there” |";
  expect(broken(page, (path) => (path.endsWith("/x.test.ts") ? 'it("is there", () => {})' : null))).toEqual([
    "x: is not",
    "y: is there",
  ]);
});

import { expect, test } from "vitest";
import { linkFindings } from "./links.mjs";
import { printed, readSources, repositoryPaths } from "./sources.mjs";

/** Files and their folders. */
function withFolders(paths: readonly string[]): ReadonlySet<string> {
  const folders = paths.flatMap((path) => path.split("/").map((_, end, parts) => parts.slice(0, end + 1).join("/")));
  return new Set(folders);
}

test("every link of every page leads to an existing file and heading", () => {
  const paths = repositoryPaths();
  const pages = readSources(paths.filter((path) => path.endsWith(".md")));
  expect(pages.length).toBeGreaterThan(10);
  expect(linkFindings(pages, withFolders(paths)).map(printed)).toEqual([]);
});

test("a link to a missing file or heading is found with its line", () => {
  const pages = [
    { path: "docs/a.md", text: "# A page\n[b](b.md#the-end) [c](c.md) [top](#a-page)\n```md\n[d](d.md)\n```\n" },
    { path: "docs/b.md", text: "## The start\n[web](https://example.com) [up](../README.md)\n" },
  ];
  expect(linkFindings(pages, new Set(["docs/a.md", "docs/b.md", "README.md"])).map(printed)).toEqual([
    "docs/a.md:2 links to b.md#the-end: heading not found",
    "docs/a.md:2 links to c.md: file not found",
  ]);
});

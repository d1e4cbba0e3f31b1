import { describe, expect, test } from "vitest";
import { trackedFindings } from "./tracked.mjs";

function findings(text: string, path = "docs/made-up.md"): readonly string[] {
  return trackedFindings([{ path, text }]).map((finding) => `${finding.line} ${finding.text.split(";")[0]}`);
}

/** Built at run time: spelled out, they would be found here. */
const slash = "/";

describe("the check of tracked files", () => {
  test.each([`${slash}home/ann/app`, `"${slash}root/x"`, `(${slash}Users/ann)`, `see ${slash}work/x`])(
    "finds the path %s",
    (path) => {
      expect(findings(`first\n${path}`)).toEqual(["2 names a path of one machine"]);
    },
  );

  test.each(["https://host/home/ann", "./work/x", "docs/work/x", "/var/lib/app.db", "a/root/b"])(
    "lets the path %s pass",
    (path) => {
      expect(findings(path)).toEqual([]);
    },
  );

  test("finds a registry in a lock file, and nowhere else", () => {
    const line = `"resolved": "https://host/x.tgz"`;
    expect(findings(line, "package-lock.json")).toEqual(["1 names a registry"]);
    expect(findings(line)).toEqual([]);
  });

  test("finds a comment that switches a check off, except in tests", () => {
    const line = ["// biome", "ignore lint: no"].join("-");
    expect(findings(line, "test/sim/src/made-up.ts")).toEqual(["1 switches a check off"]);
    expect(findings(line, "test/sim/src/made-up.test.ts")).toEqual([]);
  });

  test("reads text files only", () => {
    expect(findings(`\0 ${slash}home/ann`)).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { trackedFindings } from "./tracked.mjs";

function findings(text: string, path = "docs/made-up.md"): readonly string[] {
  return trackedFindings([{ path, text }]).map((finding) => `${finding.line} ${finding.text.split(";")[0]}`);
}

/** The paths are built at run time, because the check also reads this file. */
const slash = "/";

describe("the check of tracked files", () => {
  test.each([`${slash}home/ann/app`, `"${slash}root/x"`, `(${slash}Users/ann)`, `see ${slash}work/x`])(
    "the path %s is a finding",
    (path) => {
      expect(findings(`first\n${path}`)).toEqual(["2 contains a path of one host"]);
    },
  );

  test.each(["https://host/home/ann", "./work/x", "docs/work/x", "/var/lib/app.db", "a/root/b"])(
    "the path %s is no finding",
    (path) => {
      expect(findings(path)).toEqual([]);
    },
  );

  test("the address of a registry is a finding only in a lock file", () => {
    const line = `"resolved": "https://host/x.tgz"`;
    expect(findings(line, "package-lock.json")).toEqual(["1 contains the address of a registry"]);
    expect(findings(line)).toEqual([]);
  });

  test("a comment that switches a check off is a finding, except in tests", () => {
    const line = ["// biome", "ignore lint: no"].join("-");
    expect(findings(line, "test/sim/src/made-up.ts")).toEqual(["1 switches a check off"]);
    expect(findings(line, "test/sim/src/made-up.test.ts")).toEqual([]);
  });

  test("the check reads text files only", () => {
    expect(findings(`\0 ${slash}home/ann`)).toEqual([]);
  });
});

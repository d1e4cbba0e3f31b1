import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readCommandOptions } from "./command-options.mjs";
import { ROOT } from "./sources.mjs";

const KNOWN = { store: ["postgres", "redis"], seconds: 60 } as const;

describe("readCommandOptions", () => {
  it("a command option has the given value, or its default", () => {
    expect(readCommandOptions("usage", KNOWN, [])).toEqual({ store: "postgres", seconds: 60 });
    expect(readCommandOptions("usage", KNOWN, ["--store", "redis", "--seconds", "5"])).toEqual({
      store: "redis",
      seconds: 5,
    });
  });

  it.each([
    [["--wat"], 2, "Unknown option '--wat'"],
    [["wat"], 2, "Unexpected argument 'wat'"],
    [["--seconds", "0"], 2, "--seconds must be an integer above 0; got 0"],
    [["--seconds", "soon"], 2, "--seconds must be an integer above 0; got soon"],
    [["--store", "paper"], 2, "--store must be one of postgres, redis; got paper"],
    [["--help"], 0, "npm run it"],
  ] as const)("the arguments %j exit with %i and print the reason and the usage", (args, status, printed) => {
    const module = pathToFileURL(join(ROOT, "scripts", "command-options.mjs")).href;
    const code = `import { readCommandOptions } from ${JSON.stringify(module)}; readCommandOptions("npm run it", ${JSON.stringify(KNOWN)}, process.argv.slice(1)); console.log("continued");`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", code, "--", ...args], { encoding: "utf8" });
    expect(run.status).toBe(status);
    const text = run.stdout + run.stderr;
    expect(text).toContain(printed);
    expect(text).toContain("npm run it");
    expect(text).not.toContain("continued");
    expect(text).not.toContain("    at ");
  });
});

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { asked } from "./asked.mjs";
import { ROOT } from "./sources.mjs";

const KNOWN = { store: ["postgres", "redis"], seconds: 60 } as const;

describe("what a command is asked for", () => {
  it("is what was given, and what holds where nothing was", () => {
    expect(asked("usage", KNOWN, [])).toEqual({ store: "postgres", seconds: 60 });
    expect(asked("usage", KNOWN, ["--store", "redis", "--seconds", "5"])).toEqual({ store: "redis", seconds: 5 });
  });

  it.each([
    [["--wat"], 2, "Unknown option '--wat'"],
    [["wat"], 2, "Unexpected argument 'wat'"],
    [["--seconds", "0"], 2, "--seconds is 0; it has to be a whole number above 0"],
    [["--seconds", "soon"], 2, "--seconds is soon; it has to be a whole number above 0"],
    [["--store", "paper"], 2, "--store is paper; it has to be postgres, redis"],
    [["--help"], 0, "npm run it"],
  ] as const)("%j ends the command with %i, says why and how it is used", (args, status, said) => {
    const module = pathToFileURL(join(ROOT, "scripts", "asked.mjs")).href;
    const code = `import { asked } from ${JSON.stringify(module)}; asked("npm run it", ${JSON.stringify(KNOWN)}, process.argv.slice(1)); console.log("went on");`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", code, "--", ...args], { encoding: "utf8" });
    expect(run.status).toBe(status);
    const text = run.stdout + run.stderr;
    expect(text).toContain(said);
    expect(text).toContain("npm run it");
    expect(text).not.toContain("went on");
    expect(text).not.toContain("    at ");
  });
});

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { OptionError, readOptions } from "./options.mjs";
import { isWhole } from "./save.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("options", () => {
  it.each([
    [["--store", "mongo"], "it can be memory, sqlite"],
    [["--stor", "sqlite"], "there are --store"],
    [["sqlite"], "there are --store"],
    [["--rounds", "0"], "it has to be 1 or more"],
    [["--store", "sqlite", "--only", "W9"], "there is no workload W9; there are W1"],
    [["--quick", "--only", "scale"], "there is no workload scale"],
    [["--fsync", "sometimes"], "it can be always"],
    [["--url", "redis://127.0.0.1"], "--url needs --store"],
    [["--store", "sqlite", "--url", "redis://127.0.0.1"], "--url needs --store"],
    [["--store", "sqlite", "--redis", "redis://127.0.0.1"], "has no use for it"],
    [["--postgres", "nowhere"], "nowhere is not the url"],
  ])("what there is not is refused, and what there is is told: %s", (args, told) => {
    expect(() => readOptions(args)).toThrow(OptionError);
    expect(() => readOptions(args)).toThrow(told);
  });

  it("all stores are measured unless one is named, and quickly in one round", () => {
    expect(readOptions([])).toMatchObject({ stores: ["memory", "sqlite", "postgres", "redis", "bpmn"], rounds: 3 });
    expect(readOptions(["--quick"])).toMatchObject({ brief: true, rounds: 1, name: "benchmarks" });
    expect(readOptions(["--quick", "--store", "redis"])).toMatchObject({ brief: false, rounds: 2, name: "redis" });
  });

  it.each([
    [[], true],
    [["--store", "sqlite", "--rounds", "5"], true],
    [["--rounds", "2"], false],
    [["--quick"], false],
    [["--only", "W1"], false],
  ])("only a whole run is published: %s", (args, published) => {
    expect(isWhole(readOptions(args))).toBe(published);
  });

  it("a server that runs already is named by its store, or by its url where one store is measured", () => {
    const url = "postgres://127.0.0.1:5432/bench";
    expect(readOptions(["--postgres", url]).urls).toEqual({ postgres: url });
    expect(readOptions(["--store", "postgres", "--url", url]).urls).toEqual({ postgres: url });
  });
});

describe("what is asked of the command is read before anything is built, installed or started", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  /** A copy of the repository's part that has no modules at all, where nothing could be installed either. */
  function freshCopy(): string {
    const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
    folders.push(folder);
    for (const path of ["bench/run.mjs", "bench/install.mjs", "bench/package.json", "bench/src", "scripts"]) {
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    }
    return folder;
  }

  it.each(["bench/run.mjs", "scripts/bench.mjs"])("%s refuses in a line", (program) => {
    const folder = freshCopy();
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, program), "--store", "nonsense"], {
      env: { PATH: "" },
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^--store is nonsense; it can be [^\n]*\n$/);
    expect(existsSync(join(folder, "bench/node_modules"))).toBe(false);
  });

  it("a workload that needs what is not installed yet can be asked for", () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(freshCopy(), "bench/run.mjs"), "--store", "redis", "--only", "queues,W99"],
      { env: { PATH: "" }, encoding: "utf8" },
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/^there is no workload W99; there are .*\bqueues\b/);
  });
});

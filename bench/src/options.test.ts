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
    [["--store", "mongo"], "--store must be one of memory, sqlite"],
    [["--stor", "sqlite"], "use --store"],
    [["sqlite"], "use --store"],
    [["--rounds", "0"], "must be 1 or more"],
    [["--store", "sqlite", "--only", "W9"], "unknown workload W9; use W1"],
    [["--quick", "--only", "scale"], "unknown workload scale"],
    [["--fsync", "sometimes"], "must be one of always"],
    [["--url", "redis://127.0.0.1"], "--url needs --store"],
    [["--store", "sqlite", "--url", "redis://127.0.0.1"], "--url needs --store"],
    [["--store", "sqlite", "--redis", "redis://127.0.0.1"], "--redis cannot be used with --store sqlite"],
    [["--postgres", "nowhere"], '"nowhere" is not a URL'],
  ])("invalid options are rejected with the valid ones: %s", (args, message) => {
    expect(() => readOptions(args)).toThrow(OptionError);
    expect(() => readOptions(args)).toThrow(message);
  });

  it("all stores are measured by default, and --quick measures one round", () => {
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
  ])("only a complete benchmark is published: %s", (args, published) => {
    expect(isWhole(readOptions(args))).toBe(published);
  });

  it("a running server is passed by --postgres and --redis, or by --url with one store", () => {
    const url = "postgres://127.0.0.1:5432/bench";
    expect(readOptions(["--postgres", url]).urls).toEqual({ postgres: url });
    expect(readOptions(["--store", "postgres", "--url", url]).urls).toEqual({ postgres: url });
  });
});

describe("options are read before anything is built, installed or started", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  /** A copy of a part of the repository without node_modules, in which nothing can be installed. */
  function freshCopy(): string {
    const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
    folders.push(folder);
    for (const path of ["bench/run.mjs", "bench/install.mjs", "bench/package.json", "bench/src", "scripts"]) {
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    }
    return folder;
  }

  it.each(["bench/run.mjs", "scripts/bench.mjs"])("%s rejects an invalid option with one line", (program) => {
    const folder = freshCopy();
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, program), "--store", "nonsense"], {
      env: { PATH: "" },
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^--store must be one of [^\n]*; got nonsense[^\n]*\n$/);
    expect(existsSync(join(folder, "bench/node_modules"))).toBe(false);
  });

  it("a workload of a peer that is not installed yet can be selected", () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(freshCopy(), "bench/run.mjs"), "--store", "redis", "--only", "queues,W99"],
      { env: { PATH: "" }, encoding: "utf8" },
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/^unknown workload W99; use .*\bqueues\b/);
  });
});

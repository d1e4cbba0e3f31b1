import { describe, expect, test } from "vitest";
import { worldFindings } from "./world.mjs";

function findings(text: string, path = "packages/core/src/rules/made-up.ts"): readonly string[] {
  return worldFindings([{ path, text }]).map((finding) => `${finding.line} ${finding.text.split(";")[0]}`);
}

describe("the outside-world check", () => {
  test.each([
    ["Date.now()", "Date.now"],
    ["new Date()", "new Date()"],
    ["Date()", "Date()"],
    ["Math.random()", "Math.random"],
    ["Math['random']()", "Math.random"],
    ["setTimeout(f, 1)", "setTimeout"],
    ["setInterval(f, 1)", "setInterval"],
    ["setImmediate(f)", "setImmediate"],
    ["globalThis.setTimeout(f, 1)", "globalThis.setTimeout"],
    ["performance.now()", "performance.now"],
    ["crypto.randomUUID()", "crypto.randomUUID"],
    ["fetch('x')", "fetch"],
    ["process.hrtime.bigint()", "process.hrtime"],
    ["process.env.HOME", "process.env"],
    ["console.log(1)", "console"],
    ["const later = { setTimeout }", "setTimeout"],
    ["import { setTimeout as later } from 'node:timers/promises'", "the module timers/promises"],
    ["import { randomUUID } from 'node:crypto'", "randomUUID of crypto"],
    ["const { randomUUID } = await import('node:crypto')", "the module crypto"],
  ])("the outside-world check finds %s", (text, name) => {
    expect(findings(`const f = () => 1;\n${text};`)).toEqual([`2 uses ${name}`]);
  });

  test.each([
    "const text = 'Date.now() and setTimeout'; // Math.random()",
    "clock.setTimeout(f); const made = { fetch: 1, console: 2 };",
    "const date = new Date(5); const copy = Date.UTC(2000, 1);",
    "interface Port { fetch(url: string): void; setTimeout: number }",
    "import { createHash } from 'node:crypto';",
  ])("the outside-world check allows %s", (text) => {
    expect(findings(text)).toEqual([]);
  });

  test("the outside-world check skips runtime, testing, tests and other packages", () => {
    for (const path of [
      "packages/core/src/runtime/clock.ts",
      "packages/core/src/testing/made-up.ts",
      "packages/core/src/rules/made-up.test.ts",
      "test/sim/src/made-up.ts",
    ]) {
      expect(findings("Date.now()", path)).toEqual([]);
    }
  });

  test("the outside-world check includes stores", () => {
    expect(findings("Date.now()", "packages/core/src/store/sqlite/made-up.ts")).toHaveLength(1);
  });
});

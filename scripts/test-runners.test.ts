import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCore } from "./docs-run.mjs";
import { ROOT } from "./sources.mjs";

/** A test file of a user's project, in the syntax of a test runner. */
function testFile(imports: string, same: (actual: string, expected: string) => string): string {
  return `
import { workflow } from "pawl";
import { effectLog, explore, testEngine } from "pawl/testing";
${imports}

const trial = workflow("trial", async (ctx, who) => {
  const began = new Date(ctx.now());
  await ctx.step("welcome", () => { throw new Error("no mail in tests"); });
  await ctx.sleep("30 days");
  const answer = await ctx.listen("subscribe", { timeout: "7 days" });
  return { who, began, plan: answer.timedOut ? null : answer.value, seen: new Map([["tags", new Set([who])]]) };
});

test("a month passes at once", async () => {
  const engine = await testEngine({ workflows: [trial], steps: { welcome: () => "sent" } });
  const run = await engine.start(trial, "ann");
  await engine.advance("30 days");
  await engine.send(run.id, "subscribe", "basic");
  const result = await run.result();
  ${same("result.plan", '"basic"')}
  ${same("result.began.toISOString()", '"2024-01-01T00:00:00.000Z"')}
  ${same("result.seen.get('tags').has('ann')", "true")}
  const failing = await engine.start(trial, "bob");
  await failing.cancel("he left");
  const error = await failing.result().catch((reason) => reason);
  ${same("error.code", '"RUN_CANCELLED"')}
  await engine.close();
});

const effects = effectLog();
const charging = (keyed, name) => workflow("order", async (ctx) => {
  const id = name();
  const paid = await ctx.step("charge", async (info) => {
    effects.happened("charge", keyed ? { key: info.idempotencyKey } : {});
    return Date.now() > 0;
  });
  return [paid, id.length];
});
const found = async (order) => {
  const report = await explore(order, undefined, { effects, schedules: 30 }).catch((error) => error.report);
  return report.findings.map(({ kind, subject }) => kind + " " + subject).join(", ");
};

test("an order with an idempotency key is charged once", async () => {
  ${same('await found(charging(true, () => "o-1"))', '""')}
});
test("an order without a key is charged twice", async () => {
  ${same('await found(charging(false, () => "o-1"))', '"twice charge"')}
});
test("crypto.randomUUID differs in each replay", async () => {
  ${same("await found(charging(true, () => crypto.randomUUID()))", '"nondeterminism crypto.randomUUID()"')}
});
`;
}

const byAssert = (actual: string, expected: string): string => `assert.deepEqual(${actual}, ${expected});`;
const byExpect = (actual: string, expected: string): string => `expect(${actual}).toEqual(${expected});`;

/** On a busy host a test may take longer than the runners' default of 5 s. */
const TIMEOUT = "--testTimeout=120000";

const RUNNERS = [
  {
    name: "node:test",
    file: "trial.test.js",
    text: testFile('import assert from "node:assert/strict";\nimport { test } from "node:test";', byAssert),
    args: ["--test"],
    needs: null,
  },
  {
    name: "vitest",
    file: "trial.test.js",
    text: testFile('import { expect, test } from "vitest";', byExpect),
    args: [join(ROOT, "node_modules", "vitest", "vitest.mjs"), "run", TIMEOUT],
    needs: "vitest",
  },
  {
    name: "jest",
    file: "trial.test.js",
    text: testFile("", byExpect),
    // Jest needs this flag to execute ES modules.
    args: ["--experimental-vm-modules", join(ROOT, "node_modules", "jest", "bin", "jest.js"), TIMEOUT],
    needs: "jest",
  },
] as const;

describe("testEngine and explore without configuration", () => {
  let folder = "";
  beforeAll(() => {
    expect(buildCore()).toBe("");
    folder = mkdtempSync(join(tmpdir(), "pawl-runners-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  for (const { name, file, text, args, needs } of RUNNERS) {
    const isMissing = needs !== null && !existsSync(join(ROOT, "node_modules", needs)) && process.env.CI !== "true";
    it.skipIf(isMissing)(`testEngine and explore work with ${name}${isMissing ? " (not installed)" : ""}`, () => {
      const project = join(folder, name.replace(":", "-"));
      mkdirSync(join(project, "node_modules"), { recursive: true });
      symlinkSync(join(ROOT, "packages", "core"), join(project, "node_modules", "pawl"));
      if (needs !== null) symlinkSync(join(ROOT, "node_modules", needs), join(project, "node_modules", needs));
      writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
      writeFileSync(join(project, file), text);
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: project,
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1" },
      });
      expect({ status, output: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, output: "" });
      expect(stdout + stderr).toMatch(/pass|PASS/);
    });
  }
});

import { afterAll, describe, expect, test } from "vitest";
import { scriptEngine } from "./script-engine.ts";

const scripts = scriptEngine({ size: 1 });
afterAll(() => scripts.close());

const run = (source: string, variables: Record<string, unknown> = {}, timeoutMs?: number): Promise<unknown> =>
  scripts.run({ source, variables, now: 1_000, seed: 7, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
const failure = (source: string): Promise<string> =>
  run(source).then(
    (value) => `value ${JSON.stringify(value)}`,
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

describe("a script", () => {
  test("a script reads variables and returns JSON", async () => {
    expect(
      await run("return { total: variables.items.reduce((sum, item) => sum + item, 0) }", { items: [1, 2, 3] }),
    ).toEqual({ total: 6 });
    expect(await run("const a = 1;")).toBeNull();
  });

  test("a script gets the same time and the same random numbers in every run", async () => {
    const source = "return [Date.now(), new Date().getTime(), Math.random(), Math.random()]";
    const first = await run(source);
    expect(first).toEqual(await run(source));
    expect((first as number[]).slice(0, 2)).toEqual([1_000, 1_000]);
  });

  test("a script leaves no globals for the next script", async () => {
    await run("globalThis.left = 1; Object.prototype.left = 2; return 1");
    expect(await run("return typeof left")).toBe("undefined");
  });

  test("a script that throws fails with its own error", async () => {
    await expect(run("throw new TypeError('no')")).rejects.toThrow("script failed: TypeError: no");
    expect(await failure("return (")).toBe("SCRIPT_FAILED");
    expect(await failure("return 10n")).toBe("SCRIPT_FAILED");
    expect(await failure("return async () => 1")).toBe("SCRIPT_FAILED");
    expect(await failure("return Promise.resolve(1)")).toBe("SCRIPT_FAILED");
  });
});

describe("limits of scripts", () => {
  test.each([
    ["time", "for (;;);"],
    ["memory", "const all = []; for (;;) all.push(new Array(1000).fill(1))"],
    ["stack", "const f = () => f(); f()"],
    ["output", "return 'x'.repeat(2_000_000)"],
  ])("a script that exceeds its %s is stopped", async (_, source) => {
    await expect(run(source, {}, 300)).rejects.toMatchObject({ code: "SCRIPT_LIMIT" });
    expect(await run("return 1")).toBe(1);
  });

  test("a script that cannot be interrupted is stopped with its thread", async () => {
    await expect(run("return (new Array(1e9) + '').length", {}, 300)).rejects.toMatchObject({ code: "SCRIPT_LIMIT" });
    expect(await run("return 1")).toBe(1);
  });

  test("a script with too much input is not started", async () => {
    await expect(run("return 1", { text: "x".repeat(5_000_000) })).rejects.toMatchObject({ code: "SCRIPT_LIMIT" });
  });
});

test("the result of a script never sets a prototype", async () => {
  const value = (await run('return JSON.parse(\'{"__proto__": {"a": 1}, "b": 2}\')')) as object;
  expect(Object.keys(value)).toEqual(["b"]);
});

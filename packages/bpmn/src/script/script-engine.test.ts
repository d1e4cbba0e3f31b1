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

  test("lines that a script writes to its console are received after its end, bounded, also if it fails", async () => {
    const lines: unknown[] = [];
    const onLine = (line: unknown): void => void lines.push(line);
    await scripts.run({
      source: 'console.log("n is", variables.n, { a: [1] }); console.warn(undefined); console.error("");',
      variables: { n: 1 },
      onLine,
    });
    expect(lines).toEqual([
      { level: "info", text: 'n is 1 {"a":[1]}' },
      { level: "warn", text: "undefined" },
      { level: "error", text: "" },
    ]);
    lines.length = 0;
    const failing = scripts.run({ source: 'console.log("before"); throw new Error("no")', variables: {}, onLine });
    await expect(failing).rejects.toMatchObject({ code: "SCRIPT_FAILED" });
    expect(lines).toEqual([{ level: "info", text: "before" }]);
    lines.length = 0;
    const many = 'for (let i = 0; i < 1000; i += 1) console.log("x".repeat(5000)); return 1';
    expect(await scripts.run({ source: many, variables: {}, onLine })).toBe(1);
    expect(lines).toHaveLength(100);
    expect((lines[0] as { readonly text: string }).text).toHaveLength(1_000);
  });

  test("a script that changes built-ins cannot forge lines or break its result", async () => {
    const lines: unknown[] = [];
    const source = `
      Object.prototype.toJSON = () => 'x"],["error","forged"';
      Array.prototype.push = String.prototype.slice = JSON.stringify = () => { throw new Error("no"); };
      Object.defineProperty(Array.prototype, "0", { set() { throw new Error("no"); } });
      const circle = {}; circle.self = circle;
      console.log({ a: 1 }, circle, { toString() { throw 1; }, toJSON: undefined });
      console.log("a\\nb");
      return "done";`;
    const result = await scripts.run({ source, variables: {}, onLine: (line) => void lines.push(line) });
    expect(result).toBe("done");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toEqual({ level: "info", text: "a\nb" });
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

import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { type CodecHook, message, type PawlError, topic, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const echo = workflow("echo", async (_, input: unknown) => input);

async function codeOf(call: () => Promise<unknown>): Promise<string> {
  return await call().then(
    () => "accepted",
    (error: PawlError) => `${error.code}: ${error.message}`,
  );
}

describe.each(TEST_STORES)("values, on the store $name", ({ create }) => {
  it("a value that cannot be stored without loss is rejected with its path, and nothing changes", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    class Point {
      x = 1;
    }
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [() => 1, "$"],
      [{ a: { b: [1, Symbol("s")] } }, "$.a.b[1]"],
      [new Point(), "$"],
      [{ promise: Promise.resolve(1) }, "$.promise"],
      [{ weak: new WeakMap() }, "$.weak"],
      [circle, "$.self"],
    ];
    for (const [value, path] of cases) {
      const text = await codeOf(() => engine.start(echo, value, { id: "r" }));
      expect(text).toContain("PAYLOAD_UNSUPPORTED: input of run r");
      expect(text).toContain(path);
      expect(await codeOf(() => engine.send("r", "m", value))).toContain("PAYLOAD_UNSUPPORTED: message m");
      expect(await codeOf(() => engine.emit("t", value))).toContain("PAYLOAD_UNSUPPORTED: event t");
    }
    expect(await engine.get("r")).toBeNull();
  });

  it("every supported value is restored unchanged, as input, output, message and event", async () => {
    const cluster = await create(onTestFinished);
    const values: readonly unknown[] = [
      undefined,
      null,
      "",
      "\u0000 \ud83d\ude00 \ud800",
      -0,
      Number.NaN,
      Number.NEGATIVE_INFINITY,
      2n ** 64n,
      new Date(-1),
      new Map<unknown, unknown>([[{ k: 1 }, new Set(["a"])]]),
      new Uint8Array([0, 255]),
      Buffer.from("hällo"),
      [undefined, null, [[]]],
      JSON.parse('{"__proto__": {"x": 1}, "constructor": 2, "": 3, "snake_case": 4, "toString": 5}'),
    ];
    const round = workflow("round", async (ctx, input: unknown) => {
      const m = await ctx.listen("m");
      const e = await ctx.awaitEvent("e");
      return [input, m.value, e.value, await ctx.step("s", () => input)];
    });
    const engine = await cluster.engine({ workflows: [round] });
    for (const value of values) {
      const run = await engine.start(round, value);
      await run.send("m", value);
      await engine.emit("e", value);
      expect(await cluster.result(run)).toStrictEqual([value, value, value, value]);
    }
  });

  it("a value above payloadBytesMax is rejected, and a large value is logged", async () => {
    const cluster = await create(onTestFinished);
    const fat = workflow("fat", async (ctx) => {
      const bad = await ctx.tryStep("fat", () => "x".repeat(20_000));
      return bad.ok ? "kept" : { kind: bad.failure.kind, code: (bad.failure.error as PawlError).code };
    });
    const engine = await cluster.engine({ workflows: [echo, fat], payloadBytesMax: 10_000 });
    const text = await codeOf(() => engine.start(echo, "x".repeat(10_001)));
    expect(text).toContain("PAYLOAD_TOO_LARGE");
    expect(text).toContain("10003");
    expect(text).toContain("10000");
    expect(await cluster.result(await engine.start(fat, undefined))).toEqual({
      kind: "critical",
      code: "PAYLOAD_TOO_LARGE",
    });
    const large = () => cluster.log.filter(({ text }) => text === "large payload");
    expect(large()).toEqual([]);
    await cluster.result(await engine.start(echo, "x".repeat(2_000), { id: "big" }));
    const warning = { level: "warn", text: "large payload", fields: { what: "input of run big", bytes: 2_002 } };
    expect(large()[0]).toMatchObject(warning);
  });

  it("a run whose output is too large fails", async () => {
    const cluster = await create(onTestFinished);
    const fat = workflow("fat", async () => "x".repeat(20_000));
    const engine = await cluster.engine({ workflows: [fat], payloadBytesMax: 10_000 });
    const error = await cluster.failure(await engine.start(fat, undefined));
    expect(error.cause).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  });

  it("every thrown value is stored: errors with cause and code, other values, and huge messages truncated", async () => {
    const cluster = await create(onTestFinished);
    const throws = workflow("throws", { codeErrors: "fail" }, async (_, which: string): Promise<void> => {
      if (which === "text") await Promise.reject("just text");
      if (which === "nothing") await Promise.reject(undefined);
      if (which === "huge") throw new Error("y".repeat(50_000));
      throw Object.assign(new AggregateError([new TypeError("one")], "many"), { code: 42, cause: new Error("root") });
    });
    const engine = await cluster.engine({ workflows: [throws], payloadBytesMax: 10_000 });
    const causeOf = async (which: string): Promise<Error & { code?: unknown }> =>
      (await cluster.failure(await engine.start(throws, which))).cause as Error;
    expect(await causeOf("text")).toMatchObject({ name: "NonError", message: "just text" });
    expect(await causeOf("nothing")).toMatchObject({ name: "NonError" });
    expect((await causeOf("huge")).message).toMatch(/^y{1000}$/);
    const many = await causeOf("aggregate");
    expect(many).toBeInstanceOf(AggregateError);
    expect(many).toMatchObject({
      code: 42,
      cause: { message: "root" },
      errors: [{ name: "TypeError", message: "one" }],
    });
  });
});

describe.each(TEST_STORES)("a codec, on the store $name", ({ create }) => {
  const secret: CodecHook = {
    encode: (text) => `#${Buffer.from(text).toString("base64")}`,
    decode: (text) => {
      if (!text.startsWith("#")) throw new Error("not encoded");
      return Buffer.from(text.slice(1), "base64").toString();
    },
  };
  const CANARY = "canary-7f3a";

  it("the codec encodes every stored value, failure, reason and dead letter, and decodes each read", async () => {
    const cluster = await create(onTestFinished);
    const child = workflow("child", async (_, input: string): Promise<string> => {
      if (input.includes("fail")) throw Object.assign(new Error(`${CANARY} failed`), { detail: CANARY });
      return input;
    });
    const all = workflow("all", async (ctx, input: string): Promise<unknown> => {
      const step = await ctx.step("s", () => input);
      const tried = await ctx.tryStep(
        "t",
        ({ attempt }) => {
          throw new Error(`${CANARY} ${attempt}`);
        },
        { retry: { maxAttempts: 2, initialMs: 1 } },
      );
      const got = await ctx.listen("m");
      const event = await ctx.awaitEvent("e");
      await ctx.send("nobody", "m", CANARY);
      await ctx.emit("later", CANARY);
      const good = await ctx.child(child, CANARY);
      const bad = await ctx.child(child, `${CANARY} fail`).catch((error: Error) => (error.cause as Error).message);
      await ctx.listen("end");
      if (input === CANARY) return await ctx.continueAs(`${CANARY} again`);
      return [step, tried.ok, got.value, event.value, good, bad];
    });
    const engine = await cluster.engine({ workflows: [all, child], codec: secret });
    const run = await engine.start(all, CANARY);
    for (let generation = 0; generation < 2; generation += 1) {
      await run.send("m", CANARY);
      await engine.emit("e", CANARY);
      await cluster.world.advance("1 s");
      expect(await cluster.dump()).not.toContain(CANARY);
      await run.send("end", CANARY);
      await cluster.world.advance("1 s");
    }
    expect(await cluster.result(run)).toEqual([`${CANARY} again`, false, CANARY, CANARY, CANARY, `${CANARY} failed`]);
    const cancelled = await engine.start(all, CANARY);
    await cancelled.cancel(`${CANARY} reason`);
    const paused = await engine.start(all, CANARY);
    await paused.pause(`${CANARY} reason`);
    expect((await engine.get(paused.id))?.error?.message).toBe(`${CANARY} reason`);
    expect((await engine.deadLetters.list()).items[0]).toMatchObject({ value: CANARY });
    expect(JSON.stringify((await run.journal()).map((record) => record.value))).toContain(CANARY);
    expect(await cluster.dump()).not.toContain(CANARY);
  });
});

describe.each(TEST_STORES)("a schema, on the store $name", ({ create }) => {
  const order = workflow(
    "order",
    { input: z.object({ id: z.string(), n: z.number().default(1) }), output: z.object({ total: z.number() }) },
    async (_, input) => ({ total: input.id === "bad" ? (Number.NaN as number) : input.n * 2 }),
  );

  it("start checks the input against the schema, applies defaults, and starts no run if it does not match", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [order] });
    expect(await cluster.result(await engine.start(order, { id: "a" } as { id: string; n: number }))).toEqual({
      total: 2,
    });
    const text = await codeOf(() => engine.start(order, { id: 1 } as never, { id: "r" }));
    expect(text).toContain("SCHEMA_REFUSED: input of run r does not match its schema: $.id");
    expect(await engine.get("r")).toBeNull();
  });

  it("a run fails if its output does not match the schema", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [order] });
    const error = await cluster.failure(await engine.start(order, { id: "bad", n: 1 }));
    expect(error.cause).toMatchObject({ code: "SCHEMA_REFUSED" });
    expect((error.cause as Error).message).toContain("$.total");
  });

  it("send and emit check values against the schema, from outside and from workflows", async () => {
    const cluster = await create(onTestFinished);
    const approve = message("approve", z.object({ by: z.string() }));
    const price = topic("price", { schema: z.coerce.number() });
    const waits = workflow("waits", async (ctx) => {
      const codes: string[] = [];
      await ctx.send("r", approve, { by: 1 } as never).catch((error: PawlError) => codes.push(error.code));
      await ctx.emit(price, "no number" as never).catch((error: PawlError) => codes.push(error.code));
      const got = await ctx.listen(approve);
      const at = await ctx.awaitEvent(price);
      return [got.value.by, at.value, codes];
    });
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined, { id: "r" });
    expect(await codeOf(() => run.send(approve, {} as never))).toContain("SCHEMA_REFUSED: message approve");
    expect(await codeOf(() => engine.emit(price, "x" as never))).toContain("SCHEMA_REFUSED: event price");
    await run.send(approve, { by: "ann" });
    await engine.emit(price, "12" as never);
    expect(await cluster.result(run)).toEqual(["ann", 12, ["SCHEMA_REFUSED", "SCHEMA_REFUSED"]]);
  });

  it("child and continueAs check the input against the schema at the call", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx) => {
      const codes: string[] = [];
      await ctx.child(order, { id: 1 } as never).catch((error: PawlError) => codes.push(error.code));
      await ctx.continueAs(order, { id: 1 } as never).catch((error: PawlError) => codes.push(error.code));
      return codes;
    });
    const engine = await cluster.engine({ workflows: [parent, order] });
    expect(await cluster.result(await engine.start(parent, undefined))).toEqual(["SCHEMA_REFUSED", "SCHEMA_REFUSED"]);
  });
});

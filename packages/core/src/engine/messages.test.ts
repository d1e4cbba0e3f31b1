import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, message, type PawlError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

describe.each(TEST_STORES)("a message, on the store $name", ({ create }) => {
  it("a message to a waiting run is delivered", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.send("go", { by: "ann" })).toEqual({ kind: "delivered" });
    expect(await cluster.result(run)).toEqual({ by: "ann" });
  });

  it.each([undefined, null, 7, {}])(
    "a message or event with the invalid name %j is rejected, from outside and from a workflow",
    async (given) => {
      const name = given as unknown as string;
      const cluster = await create(onTestFinished);
      const code = (error: unknown): unknown => (error as PawlError).code;
      const nameless = workflow("nameless", async (ctx) => {
        const calls = [
          () => ctx.listen(name),
          () => ctx.awaitEvent(name),
          () => ctx.send("r", name, 1),
          () => ctx.emit(name, 1),
        ];
        return await Promise.all(calls.map((call) => (async () => await call())().then(() => "done", code)));
      });
      const engine = await cluster.engine({ workflows: [nameless] });
      const outside = [engine.send("r", name, 1), engine.emit(name, 1), engine.run("r").send(name, 1)];
      expect(await Promise.all(outside.map((call) => call.catch(code)))).toEqual(Array(3).fill("NAME_INVALID"));
      const run = await engine.start(nameless, undefined);
      expect(await cluster.result(run)).toEqual(Array(4).fill("NAME_INVALID"));
    },
  );

  it("messages sent before the wait are received in order, one per listen", async () => {
    const cluster = await create(onTestFinished);
    const three = workflow("three", async (ctx) => {
      await ctx.sleep("1 minute");
      const got: unknown[] = [];
      for (let i = 0; i < 3; i += 1) got.push((await ctx.listen("item")).value);
      return got;
    });
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined);
    for (const value of ["a", "b", "c", "d"]) {
      expect(await run.send("item", value, { id: value })).toEqual({ kind: "queued", id: value });
    }
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toEqual(["a", "b", "c"]);
  });

  it("a message sent before the first worker starts is not lost", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(waits, undefined);
    expect(await run.send("go", 7)).toMatchObject({ kind: "queued" });
    await cluster.engine({ workflows: [waits] });
    expect(await cluster.result(run)).toBe(7);
  });

  it("a received message has its id and the time it was sent", async () => {
    const cluster = await create(onTestFinished);
    const whole = workflow("whole", async (ctx) => ctx.listen("go"));
    const engine = await cluster.engine({ workflows: [whole] });
    const run = await engine.start(whole, undefined);
    const sentAt = cluster.world.now();
    await run.send("go", 1, { id: "m-1" });
    expect(await cluster.result(run)).toEqual({ timedOut: false, value: 1, id: "m-1", sentAt });
  });

  it("a message does not wake a wait for another name", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.send("stop", 1)).toMatchObject({ kind: "queued" });
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    await run.send("go", 2);
    expect(await cluster.result(run)).toBe(2);
  });

  it("a repeated message id is a duplicate, before and after the receive and after the run has ended", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    expect(await run.send("other", 1, { id: "m" })).toMatchObject({ kind: "queued" });
    expect(await run.send("other", 1, { id: "m" })).toEqual({ kind: "duplicate", id: "m" });
    await cluster.world.settle();
    expect(await run.send("go", 2, { id: "n" })).toEqual({ kind: "delivered" });
    await cluster.result(run);
    expect(await run.send("go", 2, { id: "n" })).toEqual({ kind: "duplicate", id: "n" });
  });

  it("only the message that completes a wait is answered with delivered, and the others become dead letters", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    const answers = await Promise.all([1, 2, 3].map((n) => run.send("go", n, { id: `m${n}` })));
    expect(answers).toEqual([{ kind: "delivered" }, { kind: "queued", id: "m2" }, { kind: "queued", id: "m3" }]);
    expect(await cluster.result(run)).toBe(1);
    const { items } = await engine.deadLetters.list();
    expect(items.map(({ target, value, reason, status }) => [target, value, reason, status]).sort()).toEqual([
      [run.id, 2, "targetTerminated", "completed"],
      [run.id, 3, "targetTerminated", "completed"],
    ]);
  });

  it("a message that loses a select is queued, and goes to the next wait for its name", async () => {
    const cluster = await create(onTestFinished);
    const choosing = workflow("choosing", async (ctx) => {
      const won = await ctx.select({ yes: { message: "yes" }, no: { message: "no" } });
      return [won.key, (await ctx.listen("no")).value];
    });
    const engine = await cluster.engine({ workflows: [choosing] });
    const run = await engine.start(choosing, undefined);
    await cluster.world.settle();
    const answers = await Promise.all([run.send("yes", 1, { id: "y" }), run.send("no", 2, { id: "n" })]);
    expect(answers).toEqual([{ kind: "delivered" }, { kind: "queued", id: "n" }]);
    expect(await cluster.result(run)).toEqual(["yes", 2]);
    expect((await engine.deadLetters.list()).items).toEqual([]);
  });

  it("a message that a run did not receive becomes a dead letter, from outside and from a run, unless it is to be discarded", async () => {
    const cluster = await create(onTestFinished);
    const sender = workflow("sender", async (ctx, to: string) => {
      await ctx.send(to, "note", "from a run");
      await ctx.send(to, "note", "unimportant", { onTargetTerminated: "discard" });
    });
    const engine = await cluster.engine({ workflows: [waits, sender] });
    const run = await engine.start(waits, undefined, { id: "target" });
    await run.send("note", "from outside");
    await cluster.result(await engine.start(sender, "target"));
    await run.cancel();
    const { items } = await engine.deadLetters.list();
    expect(items.map(({ value }) => value).sort()).toEqual(["from a run", "from outside"]);
    const other = await engine.start(waits, undefined);
    for (const { id } of items) expect((await engine.deadLetters.replay(id, { to: other.id })).kind).toBe("queued");
    expect((await engine.deadLetters.list()).items).toEqual([]);
  });

  it("a message that a rewind returned to the inbox becomes a dead letter when the run ends without it", async () => {
    const cluster = await create(onTestFinished);
    const later = workflow("later", async (ctx) => {
      await ctx.sleep("1 minute");
      return (await ctx.listen("go")).value;
    });
    const engine = await cluster.engine({ workflows: [later] });
    const run = await engine.start(later, undefined);
    await run.send("go", "returned", { onTargetTerminated: "discard" });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toBe("returned");
    await engine.rewind(run.id, 0);
    await run.cancel();
    expect((await engine.deadLetters.list()).items).toMatchObject([{ target: run.id, value: "returned" }]);
  });

  it("send reports a missing target and an ended target", async () => {
    const cluster = await create(onTestFinished);
    const quick = workflow("quick", async () => 1);
    const engine = await cluster.engine({ workflows: [quick, waits] });
    expect(await engine.send("nobody", "go", 1)).toEqual({ kind: "targetNotFound" });
    const done = await engine.start(quick, undefined);
    await cluster.result(done);
    expect(await done.send("go", 1)).toEqual({ kind: "targetTerminated", status: "completed" });
    const cancelled = await engine.start(waits, undefined);
    await cancelled.cancel();
    expect(await cancelled.send("go", 1)).toEqual({ kind: "targetTerminated", status: "cancelled" });
  });

  it("a timeout differs from every possible message value", async () => {
    const cluster = await create(onTestFinished);
    const patient = workflow("patient", async (ctx) => {
      const late = await ctx.listen("go", { timeout: "10 s" });
      const nothing = await ctx.listen("go", { timeout: "10 s" });
      const none = await ctx.listen("go", { timeout: "10 s" });
      const liar = await ctx.listen("go", { timeout: "10 s" });
      return [late, nothing, none, liar].map((got) => (got.timedOut ? "timeout" : [got.value]));
    });
    const engine = await cluster.engine({ workflows: [patient] });
    const run = await engine.start(patient, undefined);
    await cluster.world.advance("10 s");
    await run.send("go", undefined);
    await run.send("go", null);
    await run.send("go", { timedOut: true });
    expect(await cluster.result(run)).toEqual(["timeout", [undefined], [null], [{ timedOut: true }]]);
    expect((await run.journal()).map((record) => record.outcome)).toEqual(["timedOut", "ok", "ok", "ok"]);
  });

  it("listen, listenN and awaitEvent wait until a time, and time out at it", async () => {
    const cluster = await create(onTestFinished);
    const start = cluster.world.now();
    const waits = workflow("waits", async (ctx) => {
      const first = await ctx.listen("m", { until: new Date(start + 10_000) });
      const at = [ctx.now() - start];
      const many = await ctx.listenN("m", 2, { until: start + 20_000 });
      at.push(ctx.now() - start);
      const event = await ctx.awaitEvent("e", { until: start + 30_000, name: "event" });
      at.push(ctx.now() - start);
      const past = await ctx.listen("m", { until: 0 });
      return [first.timedOut, many, event.timedOut, past.timedOut, at];
    });
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits);
    await cluster.world.advance("30 s");
    const none = { timedOut: true, messages: [] };
    expect(await cluster.result(run)).toEqual([true, none, true, true, [10_000, 20_000, 30_000]]);
  });

  it("a wait with both timeout and until, or with an invalid until, is rejected", async () => {
    const cluster = await create(onTestFinished);
    const wrong = workflow("wrong", async (ctx) => {
      const codes: unknown[] = [];
      for (const options of [{ timeout: 1, until: 1 }, { until: Number.NaN }, { until: new Date(Number.NaN) }]) {
        await ctx.listen("m", options as { until: number }).catch((error: PawlError) => codes.push(error.code));
        await ctx.listenN("m", 1, options as { until: number }).catch((error: PawlError) => codes.push(error.code));
      }
      return codes;
    });
    const engine = await cluster.engine({ workflows: [wrong] });
    const [both, invalid] = ["OPTION_INVALID", "DURATION_INVALID"];
    expect(await cluster.result(await engine.start(wrong))).toEqual([both, both, invalid, invalid, invalid, invalid]);
  });

  it("a message that arrives at the time of the timeout is received exactly once", async () => {
    const cluster = await create(onTestFinished);
    const patient = workflow("patient", async (ctx) => {
      const first = await ctx.listen("go", { timeout: "10 s" });
      const second = await ctx.listen("go", { timeout: "10 s" });
      return [first.timedOut, second.timedOut];
    });
    const engine = await cluster.engine({ workflows: [patient] });
    const run = await engine.start(patient, undefined);
    await cluster.world.settle();
    cluster.world.clock.set(cluster.world.now() + 10_000);
    const sent = run.send("go", 1);
    await cluster.world.leap(0);
    expect((await sent).kind).toMatch(/delivered|queued/);
    await cluster.world.advance("30 s");
    const [first, second] = await cluster.result(run);
    expect([first, second].filter((timedOut) => !timedOut)).toHaveLength(1);
  });

  it("a received message is not received again after a crash, and no message is lost", async () => {
    const cluster = await create(onTestFinished);
    const pair = workflow("pair", async (ctx) => {
      const a = await ctx.listen("item");
      await ctx.sleep("1 minute");
      const b = await ctx.listen("item");
      return [a.value, b.value];
    });
    const first = await cluster.engine({ workflows: [pair] });
    const run = await first.start(pair, undefined);
    await run.send("item", "one");
    await run.send("item", "two");
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [pair] });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(second.run(run.id))).toEqual(["one", "two"]);
  });

  it("messages go to parallel waits for their name in the order of the waits", async () => {
    const cluster = await create(onTestFinished);
    const both = workflow("both", async (ctx) =>
      Promise.all([ctx.listen("item"), ctx.listen("item")]).then((all) => all.map((each) => each.value)),
    );
    const engine = await cluster.engine({ workflows: [both] });
    const run = await engine.start(both, undefined);
    await cluster.world.settle();
    await run.send("item", 1);
    await cluster.world.settle();
    await run.send("item", 2);
    expect(await cluster.result(run)).toEqual([1, 2]);
  });
});

describe.each(TEST_STORES)("listenN, on the store $name", ({ create }) => {
  const gather = workflow("gather", async (ctx, options: { timeout?: string }) => {
    const got = await ctx.listenN<number>("n", 3, options);
    return { timedOut: got.timedOut, values: got.messages.map((each) => each.value) };
  });

  it("listenN receives the requested number of messages and leaves the rest", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [gather] });
    const run = await engine.start(gather, {});
    for (const n of [1, 2]) await run.send("n", n);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    await engine.submitBatch(
      [3, 4].map((n) => ({
        kind: "send" as const,
        post: {
          kind: "message" as const,
          to: run.id,
          id: `m${n}`,
          name: "n",
          value: String(n),
          at: cluster.world.now(),
          onTargetTerminated: "deadLetter" as const,
          from: null,
        },
      })),
    );
    expect(await cluster.result(run)).toEqual({ timedOut: false, values: [1, 2, 3] });
    expect((await engine.deadLetters.list()).items.map((letter) => letter.value)).toEqual([4]);
  });

  it("listenN returns the messages received before its timeout, even none", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [gather] });
    const some = await engine.start(gather, { timeout: "10 s" });
    const none = await engine.start(gather, { timeout: "10 s" });
    await some.send("n", 1);
    await some.send("n", 2);
    await cluster.world.advance("10 s");
    expect(await cluster.result(some)).toEqual({ timedOut: true, values: [1, 2] });
    expect(await cluster.result(none)).toEqual({ timedOut: true, values: [] });
  });

  it("listenN rejects an invalid count", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) => {
      const codes: string[] = [];
      for (const count of [0, -1, 1.5, Number.NaN, 10_001]) {
        await ctx.listenN("n", count).catch((error: PawlError) => codes.push(error.code));
      }
      return new Set(codes).size === 1 ? codes[0] : codes;
    });
    const engine = await cluster.engine({ workflows: [odd] });
    expect(await cluster.result(await engine.start(odd, undefined))).toBe("OPTION_INVALID");
  });
});

describe.each(TEST_STORES)("select, on the store $name", ({ create }) => {
  const child = workflow("child", async (ctx, ms: number) => {
    await ctx.sleep(ms);
    return `slept ${ms}`;
  });
  const failing = workflow("failing", async () => {
    throw new Error("the child's own");
  });
  const choose = async (ctx: Ctx): Promise<unknown> => {
    const started = await ctx.startChild(child, 60_000);
    return await ctx.select({
      yes: { message: "yes" },
      no: { message: message<string>("no") },
      news: { event: "news" },
      done: { child: started },
      late: { after: "10 minutes" },
      never: { until: new Date(8.64e15) },
    });
  };
  const select = workflow("select", choose);

  it.each([
    ["a message", "yes", 1],
    ["a typed message", "no", "because"],
  ])("%s wins a select", async (_, key, value) => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [select, child] });
    const run = await engine.start(select, undefined);
    await cluster.world.settle();
    expect(await run.send(key, value)).toEqual({ kind: "delivered" });
    expect(await cluster.result(run)).toEqual({ key, value });
  });

  it("an event wins a select", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [select, child] });
    const run = await engine.start(select, undefined);
    await cluster.world.settle();
    expect(await engine.emit("news", { n: 1 })).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(run)).toEqual({ key: "news", value: { n: 1 } });
  });

  it("the end of a child wins a select", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [select, child] });
    const run = await engine.start(select, undefined);
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toEqual({ key: "done", value: "slept 60000" });
  });

  it("the earliest timer wins a select", async () => {
    const cluster = await create(onTestFinished);
    const timed = workflow("timed", async (ctx) =>
      ctx.select({ m: { message: "m" }, long: { after: "1 hour" }, short: { after: "1 minute" } }),
    );
    const engine = await cluster.engine({ workflows: [timed] });
    const run = await engine.start(timed, undefined);
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toEqual({ key: "short", value: undefined });
  });

  it("select throws the failure of a child", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx) => {
      const started = await ctx.startChild(failing, undefined);
      return await ctx.select({ done: { child: started }, m: { message: "m" } });
    });
    const engine = await cluster.engine({ workflows: [parent, failing] });
    const error = await cluster.failure(await engine.start(parent, undefined));
    expect(error.cause).toMatchObject({ code: "CHILD_FAILED", cause: { message: "the child's own" } });
  });

  it("select leaves messages of losing arms in the inbox", async () => {
    const cluster = await create(onTestFinished);
    const twice = workflow("twice", async (ctx) => {
      const first = await ctx.select({ a: { message: "a" }, b: { message: "b" } });
      const second = await ctx.select({ a: { message: "a" }, b: { message: "b" } });
      return [first, second];
    });
    const engine = await cluster.engine({ workflows: [twice] });
    const client = await cluster.engine();
    const run = await client.start(twice, undefined, { delay: "10 s" });
    await run.send("b", 1);
    await run.send("a", 2);
    await cluster.world.advance("11 s");
    expect(await cluster.result(engine.run(run.id))).toEqual([
      { key: "b", value: 1 },
      { key: "a", value: 2 },
    ]);
  });

  it("replay of a select returns the same arm", async () => {
    const cluster = await create(onTestFinished);
    const again = workflow("again", async (ctx) => {
      const won = await choose(ctx);
      await ctx.listen("end");
      return won;
    });
    const first = await cluster.engine({ workflows: [again, child] });
    const run = await first.start(again, undefined);
    await cluster.world.settle();
    await run.send("yes", 1);
    await cluster.world.settle();
    await run.send("no", 2);
    const second = await cluster.takeOver(first, { workflows: [again, child] });
    await second.send(run.id, "end", null);
    expect(await cluster.result(second.run(run.id))).toEqual({ key: "yes", value: 1 });
  });

  it("select rejects an empty set of arms", async () => {
    const cluster = await create(onTestFinished);
    const empty = workflow("empty", async (ctx) => ctx.select({}));
    const engine = await cluster.engine({ workflows: [empty] });
    const error = await cluster.failure(await engine.start(empty, undefined));
    expect(error.cause).toMatchObject({ code: "OPTION_INVALID" });
  });
});

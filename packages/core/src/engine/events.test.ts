import { describe, expect, it, onTestFinished } from "vitest";
import { topic, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const waits = workflow("waits", async (ctx) => (await ctx.awaitEvent("news")).value);

describe.each(TEST_STORES)("events, on the store $name", ({ create }) => {
  it("an event is delivered only to the run that has waited longest", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const first = await engine.start(waits, undefined);
    await cluster.world.advance(10);
    const second = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await engine.emit("news", 1)).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(first)).toBe(1);
    expect(await second.status()).toBe("suspended");
    expect(await engine.emit("news", 2)).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(second)).toBe(2);
  });

  it('an event with consume: "all" is delivered to every waiting run, on any worker', async () => {
    const cluster = await create(onTestFinished);
    const one = await cluster.engine({ workflows: [waits] });
    const two = await cluster.engine({ workflows: [waits] });
    const runs = [
      await one.start(waits, undefined),
      await two.start(waits, undefined),
      await one.start(waits, undefined),
    ];
    await cluster.world.settle();
    expect(await one.emit("news", "all", { consume: "all" })).toEqual({ kind: "delivered", runs: 3 });
    await cluster.world.advance("2 s");
    for (const run of runs) expect(await cluster.result(run)).toBe("all");
  });

  it("an event without a waiter is kept for runs that start later", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    expect(await engine.emit("news", "kept", { id: "e-1" })).toEqual({ kind: "queued", id: "e-1" });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(await engine.start(waits, undefined))).toBe("kept");
  });

  it('an event with deliver: "afterCreate" is kept only for runs that already exist', async () => {
    const cluster = await create(onTestFinished);
    const later = workflow("later", async (ctx) => {
      await ctx.sleep("1 minute");
      return (await ctx.awaitEvent("news")).value;
    });
    const engine = await cluster.engine({ workflows: [later, waits] });
    const exists = await engine.start(later, undefined);
    await cluster.world.advance("1 s");
    await engine.emit("news", "for those who are here", { deliver: "afterCreate" });
    await cluster.world.advance("1 s");
    const tooLate = await engine.start(waits, undefined);
    await cluster.world.advance("1 minute");
    expect(await cluster.result(exists)).toBe("for those who are here");
    expect(await tooLate.status()).toBe("suspended");
  });

  it('emit returns dropped for an event with deliver: "afterWait" when no run waits', async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    expect(await engine.emit("news", 1, { deliver: "afterWait" })).toEqual({ kind: "dropped" });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    expect(await engine.emit("news", 2, { deliver: "afterWait" })).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(run)).toBe(2);
  });

  it('a kept event with consume: "all" is delivered once to each run until it expires', async () => {
    const cluster = await create(onTestFinished);
    const twice = workflow("twice", async (ctx) => {
      const first = await ctx.awaitEvent("news");
      const second = await ctx.awaitEvent("news", { timeout: "1 s" });
      return [first.value, second.timedOut];
    });
    const engine = await cluster.engine({ workflows: [twice] });
    await engine.emit("news", "for all", { consume: "all" });
    const runs = [await engine.start(twice, undefined), await engine.start(twice, undefined)];
    await cluster.world.advance("2 s");
    for (const run of runs) expect(await cluster.result(run)).toEqual(["for all", true]);
  });

  it("an event emitted again with the same id is a duplicate and is delivered once", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    expect(await engine.emit("news", 1, { id: "e" })).toMatchObject({ kind: "queued" });
    expect(await engine.emit("news", 1, { id: "e" })).toEqual({ kind: "duplicate", id: "e" });
    await cluster.result(await engine.start(waits, undefined));
    expect(await engine.emit("news", 1, { id: "e" })).toEqual({ kind: "duplicate", id: "e" });
    const other = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await other.status()).toBe("suspended");
  });

  it("an expired event is not delivered", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits], eventRetention: "2 minutes" });
    await engine.emit("news", "short", { expireAfter: "1 minute" });
    await engine.emit("news", "long");
    await cluster.world.advance("1 minute");
    expect(await cluster.result(await engine.start(waits, undefined))).toBe("long");
    await engine.emit("news", "too old");
    await cluster.world.advance("2 minutes");
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
  });

  it("events are received oldest first, whether emitted before or after the wait", async () => {
    const cluster = await create(onTestFinished);
    const three = workflow("three", async (ctx) => {
      const got: unknown[] = [];
      for (let i = 0; i < 3; i += 1) got.push((await ctx.awaitEvent("news")).value);
      return got;
    });
    const engine = await cluster.engine({ workflows: [three] });
    await engine.emit("news", "a");
    await engine.emit("news", "b");
    const run = await engine.start(three, undefined);
    await cluster.world.settle();
    await engine.emit("news", "c");
    expect(await cluster.result(run)).toEqual(["a", "b", "c"]);
  });

  it("a timed-out wait is distinct from an event with payload undefined or null", async () => {
    const cluster = await create(onTestFinished);
    const patient = workflow("patient", async (ctx) => {
      const late = await ctx.awaitEvent("news", { timeout: "10 s" });
      const nothing = await ctx.awaitEvent("news", { timeout: "10 s" });
      const none = await ctx.awaitEvent("news", { timeout: "10 s" });
      return [late, nothing, none].map((got) => (got.timedOut ? "timeout" : [got.value]));
    });
    const engine = await cluster.engine({ workflows: [patient] });
    const run = await engine.start(patient, undefined);
    await cluster.world.advance("10 s");
    await engine.emit("news", undefined);
    await engine.emit("news", null);
    expect(await cluster.result(run)).toEqual(["timeout", [undefined], [null]]);
  });

  it("a message that arrived first is received before an event, and the event after it", async () => {
    const cluster = await create(onTestFinished);
    const both = workflow("both", async (ctx) => {
      await ctx.sleep("1 minute");
      return [
        await ctx.select({ m: { message: "m" }, e: { event: "news" } }),
        await ctx.select({ m: { message: "m" }, e: { event: "news" } }),
      ];
    });
    const engine = await cluster.engine({ workflows: [both] });
    const run = await engine.start(both, undefined);
    await engine.emit("news", 1);
    await run.send("m", 2);
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toEqual([
      { key: "m", value: 2 },
      { key: "e", value: 1 },
    ]);
  });

  it("emit uses the options of its topic unless the call overrides them", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const fleeting = topic<number>("news", { deliver: "afterWait" });
    expect(await engine.emit(fleeting, 1)).toEqual({ kind: "dropped" });
    expect(await engine.emit(fleeting, 2, { deliver: "all" })).toMatchObject({ kind: "queued" });
  });

  it("an event delivered to a run that ends without receiving it goes to the next waiting run", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const first = await engine.start(waits, undefined);
    await cluster.world.settle();
    await Promise.all([engine.emit("news", "passed on"), first.cancel()]);
    await cluster.world.settle();
    const second = await engine.start(waits, undefined);
    await cluster.world.settle();
    const statuses = [first, second].map((run) => run.status());
    expect(await Promise.all(statuses)).toEqual(["cancelled", "completed"]);
    expect(await cluster.result(second)).toBe("passed on");
  });
});

describe.each(TEST_STORES)("dead letters, on the store $name", ({ create }) => {
  const slow = workflow("slow", async (ctx) => void (await ctx.listen("end")));

  it("the oldest events of an overflowing topic become dead letters", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits], maxPendingEventsPerType: 2 });
    for (const n of [1, 2, 3]) await engine.emit("news", n, { id: `e${n}` });
    const { items } = await engine.deadLetters.list();
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ kind: "event", target: "news", value: 1, reason: "overflow" });
    expect(await cluster.result(await engine.start(waits, undefined))).toBe(2);
  });

  it("an expired event becomes a dead letter", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    await engine.emit("news", 1, { expireAfter: "1 s" });
    await cluster.world.advance("2 s");
    await cluster.prune();
    expect((await engine.deadLetters.list()).items).toMatchObject([{ reason: "expired", value: 1 }]);
  });

  it.each([
    ["discard", 0, false],
    ["deadLetter", 1, false],
    ["broadcast", 0, true],
  ] as const)(
    "a message left by an ended run is handled by onTargetTerminated: %s",
    async (onTargetTerminated, letters, statuses) => {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [slow, waits] });
      const run = await engine.start(slow, undefined);
      await run.send("news", "left", { onTargetTerminated });
      await run.send("end", null);
      await cluster.result(run);
      const after = await engine.start(slow, undefined);
      await after.cancel();
      expect(await after.send("news", "late", { onTargetTerminated })).toMatchObject({ kind: "targetTerminated" });
      expect((await engine.deadLetters.list()).items).toHaveLength(2 * letters);
      const listener = await engine.start(waits, undefined);
      await cluster.world.settle();
      expect(await listener.status()).toBe(statuses ? "completed" : "suspended");
      if (statuses) expect(await cluster.result(listener)).toBe("left");
    },
  );

  it("a message to a missing or ended run becomes a dead letter that can be read", async () => {
    const cluster = await create(onTestFinished);
    const sender = workflow("sender", async (ctx, to: string) => ctx.send(to, "hello", { n: 1 }, { id: "m" }));
    const engine = await cluster.engine({ workflows: [sender] });
    await cluster.result(await engine.start(sender, "nobody", { id: "s" }));
    await cluster.result(await engine.start(sender, "s"));
    const { items } = await engine.deadLetters.list();
    expect(items.map(({ target, name, reason, status }) => ({ target, name, reason, status }))).toEqual(
      expect.arrayContaining([
        { target: "nobody", name: "hello", reason: "targetNotFound", status: null },
        { target: "s", name: "hello", reason: "targetTerminated", status: "completed" },
      ]),
    );
    for (const letter of items) expect(await engine.deadLetters.get(letter.id)).toEqual(letter);
    expect(await engine.deadLetters.get("none")).toBeNull();
  });

  it("a replayed dead letter of an event wakes a waiting run and is removed", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits, slow], maxPendingEventsPerType: 1 });
    await engine.emit("news", "first");
    await engine.emit("news", "second");
    await cluster.result(await engine.start(waits, undefined));
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    const [letter] = (await engine.deadLetters.list()).items;
    expect(await engine.deadLetters.replay(letter!.id)).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(run)).toBe("first");
    expect((await engine.deadLetters.list()).items).toEqual([]);
    await expect(engine.deadLetters.replay(letter!.id)).rejects.toMatchObject({ code: "LETTER_NOT_FOUND" });
  });

  it("a dead letter of a message can be replayed to its target or to another run", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const ended = await client.start(slow, undefined);
    await ended.send("end", "again", { onTargetTerminated: "deadLetter" });
    await ended.cancel();
    await ended.send("end", "again", { id: "late", onTargetTerminated: "deadLetter" });
    const engine = await cluster.engine({ workflows: [slow] });
    const other = await engine.start(slow, undefined);
    await cluster.world.settle();
    const [letter] = (await engine.deadLetters.list()).items;
    expect(await engine.deadLetters.replay(letter!.id)).toEqual({ kind: "targetTerminated", status: "cancelled" });
    const [again] = (await engine.deadLetters.list()).items;
    expect(await engine.deadLetters.replay(again!.id, { to: other.id })).toEqual({ kind: "delivered" });
    await cluster.result(other);
  });

  it("a dead letter can be removed once", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ maxPendingEventsPerType: 1 });
    await engine.emit("news", 1);
    await engine.emit("news", 2);
    const [letter] = (await engine.deadLetters.list()).items;
    expect(await engine.deadLetters.remove(letter!.id)).toBe(true);
    expect(await engine.deadLetters.remove(letter!.id)).toBe(false);
    expect((await engine.deadLetters.list()).items).toEqual([]);
  });

  it("deadLetters.list returns page by page", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ maxPendingEventsPerType: 1 });
    for (let n = 0; n < 6; n += 1) await engine.emit("news", n);
    const seen: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await engine.deadLetters.list(cursor === undefined ? { limit: 2 } : { limit: 2, cursor });
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map((letter) => letter.value));
      cursor = page.cursor;
    }
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4]);
  });
});

import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, Loop, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Steps a, b and c, each counted. */
function threeSteps() {
  const ran: string[] = [];
  const three = workflow("three", async (ctx) => {
    for (const name of ["a", "b", "c"]) await ctx.step(name, () => ran.push(name));
    return ran.join("");
  });
  return { ran, three };
}

describe.each(TEST_STORES)("rewinding, on the store $name", ({ create }) => {
  it("a rewind runs a completed run again from a location, and records who did it and why", async () => {
    const cluster = await create(onTestFinished);
    const { three } = threeSteps();
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined);
    expect(await cluster.result(run)).toBe("abc");
    const rewound = await run.rewind("b", { by: "ann", why: "b was wrong" });
    expect(rewound).toEqual({ records: 2, children: [], reopened: [], messages: 0 });
    expect(await cluster.result(run)).toBe("abcbc");
    const journal = await run.journal();
    expect(journal.map(({ seq, location }) => `${seq} ${location}`)).toEqual(["1 a", "2 ~", "3 b", "4 c"]);
    expect(journal[1]).toMatchObject({
      kind: "operator",
      detail: "rewind",
      value: { by: "ann", why: "b was wrong", target: "b" },
    });
  });

  it("a rewind accepts a location or a seq, and 0 for the start", async () => {
    const cluster = await create(onTestFinished);
    const { three, ran } = threeSteps();
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined);
    await cluster.result(run);
    await engine.rewind(run.id, 0);
    expect(await cluster.result(run)).toBe("abcabc");
    const last = (await run.journal()).find(({ location }) => location === "c");
    await engine.rewind(run.id, last!.seq);
    expect(await cluster.result(run)).toBe("abcabcc");
    expect(ran).toHaveLength(7);
  });

  it("a rewind fences the current worker and discards the result of its step", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const aborted: string[] = [];
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("a", () => "a");
      return await ctx.step("b", ({ signal }) => {
        signal.addEventListener("abort", () => aborted.push((signal.reason as { code: string }).code));
        return new Promise<string>((resolve) => bodies.push(resolve));
      });
    });
    const worker = await cluster.engine({ workflows: [slow] });
    const client = await cluster.engine();
    const run = await worker.start(slow, undefined);
    await cluster.world.settle();
    await client.rewind(run.id, "a");
    await cluster.world.advance("3 s");
    expect(aborted).toEqual(["OWNERSHIP_LOST"]);
    bodies[0]!("first");
    bodies[1]!("second");
    expect(await cluster.finish(run)).toBe("second");
  });

  it("a late reply to a rewind does not discard a session that was opened since", async () => {
    const cluster = await create(onTestFinished);
    const { three, ran } = threeSteps();
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const engine = await cluster.engine({
      workflows: [three],
      through: (store) =>
        intercepted(store, async (call, proceed) => {
          const answered = await proceed();
          if (call.batch.some(({ kind }) => kind === "control")) await held;
          return answered;
        }),
    });
    const run = await engine.start(three, undefined);
    await cluster.result(run);
    const rewinding = run.rewind("c");
    await cluster.world.advance("5 s");
    expect(ran.join("")).toBe("abcc");
    answer();
    await rewinding;
    await cluster.finish(run);
    expect(ran.join("")).toBe("abcc");
  });

  it("a rewind succeeds although the run commits after each read", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<() => void> = [];
    const busy = workflow("busy", async (ctx) => {
      for (let n = 0; n < 6; n += 1)
        await ctx.step(`s${n}`, () => new Promise<void>((resolve) => bodies.push(resolve)));
    });
    const bodyEnds = async (): Promise<void> => {
      bodies.shift()?.();
      await cluster.world.settle();
    };
    const worker = await cluster.engine({ workflows: [busy] });
    const client = await cluster.engine({
      through: (store) =>
        intercepted(store, async (call, proceed) => {
          const answer = await proceed();
          if (call.method === "load") await bodyEnds();
          return answer;
        }),
    });
    const run = await worker.start(busy, undefined);
    await cluster.world.settle();
    await bodyEnds();
    await bodyEnds();
    expect(await client.rewind(run.id, "s1")).toMatchObject({ records: 2 });
    await cluster.finish(run, bodyEnds);
    const locations = (await run.journal()).map(({ location }) => location);
    expect(locations).toEqual(["s0", "~", "s1", "s2", "s3", "s4", "s5"]);
  });

  it("sleeps and timeouts after a rewind count from the time of the rewind", async () => {
    const cluster = await create(onTestFinished);
    const naps = workflow("naps", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep("10 s");
      return ctx.now();
    });
    const engine = await cluster.engine({ workflows: [naps] });
    const run = await engine.start(naps, undefined);
    await cluster.world.settle();
    await cluster.world.advance("30 s");
    const first = await cluster.result(run);
    const rewoundAt = cluster.world.clock.now();
    await run.rewind("sleep");
    await cluster.world.advance("2 s");
    expect(await run.status()).toBe("suspended");
    const heir = await cluster.takeOver(engine, { workflows: [naps] });
    const second = await cluster.finish(heir.run<number>(run.id));
    expect(second).toBe(rewoundAt + 10_000);
    expect(second).toBeGreaterThan(first);
  });

  it("maxRunDuration counts from the rewind", async () => {
    const cluster = await create(onTestFinished);
    let naps = 30;
    const long = workflow("long", { maxRunDuration: "10 s" }, async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep(`${naps} s`);
      return "rested";
    });
    const engine = await cluster.engine({ workflows: [long] });
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    await cluster.world.advance("12 s");
    expect(await run.status()).toBe("failed");
    naps = 5;
    await run.retry();
    await cluster.world.advance("6 s");
    expect(await cluster.result(run)).toBe("rested");
  });

  it("a rewind returns received messages to the inbox, ahead of newer ones, or drops them", async () => {
    const cluster = await create(onTestFinished);
    const reads = workflow("reads", async (ctx) => {
      const got: unknown[] = [];
      for (let n = 0; n < 3; n += 1) got.push((await ctx.listen("m")).value);
      got.push((await ctx.select({ news: { event: "news" }, word: { message: "word" } })).value);
      await ctx.listen("end");
      return got;
    });
    const engine = await cluster.engine({ workflows: [reads] });
    const run = await engine.start(reads, undefined);
    for (const n of [1, 2, 3, 4, 5]) await run.send("m", n);
    await cluster.world.settle();
    await run.send("word", "w");
    await cluster.world.settle();
    expect(await run.rewind("m#2")).toMatchObject({ records: 3, messages: 3 });
    await cluster.world.settle();
    expect(await run.rewind("m#2", { messages: "drop" })).toMatchObject({ records: 3, messages: 0 });
    await run.send("word", "other");
    await run.send("end", null);
    expect(await cluster.result(run)).toEqual([1, 4, 5, "other"]);
  });

  it("a function selects the received messages and events that a rewind returns to the inbox", async () => {
    const cluster = await create(onTestFinished);
    const reads = workflow("reads", async (ctx) => {
      const first = (await ctx.listen("a")).value;
      const second = (await ctx.listen("b")).value;
      const third = (await ctx.awaitEvent("news")).value;
      await ctx.listen("end");
      return [first, second, third];
    });
    const engine = await cluster.engine({ workflows: [reads] });
    const run = await engine.start(reads, undefined);
    await run.send("a", 1);
    await run.send("b", 2);
    await engine.emit("news", 3);
    await cluster.world.settle();
    const seen: string[] = [];
    const messages = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean => {
      seen.push(`${kind} ${name}`);
      return name !== "b";
    };
    expect(await run.rewind(0, { messages })).toMatchObject({ records: 3, messages: 2 });
    expect(seen).toEqual(["message a", "message b", "event news"]);
    await run.send("b", "other");
    await run.send("end", null);
    expect(await cluster.result(run)).toEqual([1, "other", 3]);
    await expect(run.rewind(0, { messages: 5 as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("record times never decrease, even if the clock goes back between two rewinds", async () => {
    const cluster = await create(onTestFinished);
    const { three } = threeSteps();
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined);
    await cluster.result(run);
    await run.rewind("b");
    await cluster.result(run);
    cluster.world.clock.set(cluster.world.clock.now() - 60_000);
    await run.rewind("a");
    const times = (await run.journal()).map(({ at }) => at);
    expect(times).toEqual([...times].sort((left, right) => left - right));
  });

  it("a compensating run cannot be rewound, and after its end only to before its rolled-back steps", async () => {
    const cluster = await create(onTestFinished);
    let undo: (() => void) | null = null;
    let isBroken = true;
    const books = workflow("books", async (ctx) => {
      await ctx.step("look", () => 1);
      await ctx.step("book", () => 2, { rollback: () => new Promise<void>((resolve) => (undo = resolve)) });
      return await ctx.step("pay", () => (isBroken ? Promise.reject(new Error("no")) : "paid"), { retry: false });
    });
    const engine = await cluster.engine({ workflows: [books] });
    const run = await engine.start(books, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("compensating");
    await expect(run.rewind("book")).rejects.toMatchObject({ code: "RUN_UNDOING" });
    undo!();
    await cluster.world.settle();
    expect(await run.status()).toBe("failed");
    isBroken = false;
    await expect(run.rewind("pay")).rejects.toMatchObject({ code: "STEP_UNDONE" });
    await run.rewind("book");
    expect(await cluster.result(run)).toBe("paid");
    expect(await engine.get(run.id)).toMatchObject({ status: "completed", undo: expect.any(String) });
  });

  it("a rewind rejects missing records and runs, and changes nothing", async () => {
    const cluster = await create(onTestFinished);
    const { three } = threeSteps();
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined, { id: "r" });
    await cluster.result(run);
    const before = await cluster.dump();
    await expect(engine.rewind("r", "d")).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    await expect(engine.rewind("r", 9)).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    await expect(engine.rewind("r", -1)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(engine.rewind("none", "a")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(engine.retry("r")).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    expect(await cluster.dump()).toBe(before);
  });

  it("a rewind with the same id is done once, and its id is rejected for another rewind", async () => {
    const cluster = await create(onTestFinished);
    const { three, ran } = threeSteps();
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three, undefined);
    await cluster.result(run);
    const once = await run.rewind("c", { id: "once" });
    await cluster.result(run);
    await run.rewind("a", { id: "between" });
    await cluster.result(run);
    expect(await run.rewind("c", { id: "once" })).toEqual(once);
    await expect(run.rewind("a", { id: "once" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await cluster.world.settle();
    expect(ran.join("")).toBe("abccabc");
    const actions = (await run.journal()).filter(({ kind }) => kind === "operator");
    expect(actions.map(({ value }) => (value as { id: string }).id)).toEqual(["once", "between"]);
  });

  it("a rewind returns the result of a concurrent rewind with the same id", async () => {
    const cluster = await create(onTestFinished);
    const waiting = workflow("waiting", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.listen("go");
    });
    const worker = await cluster.engine({ workflows: [waiting] });
    const run = await worker.start(waiting, undefined);
    await cluster.world.settle();
    let done: unknown = null;
    const slow = await cluster.engine({
      through: (store) =>
        intercepted(store, async (call, proceed) => {
          if (call.method === "commit" && done === null) {
            done = {};
            await run.send("go", 1);
            await cluster.result(run);
            done = await run.rewind("a", { id: "once" });
          }
          return await proceed();
        }),
    });
    expect(await slow.rewind(run.id, "a", { id: "once" })).toEqual(done);
    expect(done).toMatchObject({ records: 2 });
  });

  it("a rewind is applied as a whole or not at all, whichever commit the engine crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const { three, ran } = threeSteps();
      const engine = await cluster.engine({ workflows: [three], crashAt });
      const client = await cluster.engine();
      await client.start(three, undefined, { id: "r" });
      await cluster.world.advance("2 s");
      // A call of a crashed engine never settles.
      void engine.rewind("r", "b", { id: "x" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      if (!cluster.crashed(engine)) return false;
      const heir = await cluster.takeOver(engine, { workflows: [three] });
      await cluster.finish(heir.run("r"));
      await heir.rewind("r", "b", { id: "x" });
      await cluster.finish(heir.run("r"));
      const journal = await heir.run("r").journal();
      expect(journal.map(({ location }) => location)).toEqual(["a", "~", "b", "c"]);
      expect(ran.filter((name) => name === "b").length).toBeGreaterThanOrEqual(2);
      return true;
    });
    expect(crashes).toBeGreaterThanOrEqual(8);
  });
});

describe.each(TEST_STORES)("rewinding a run with children, on the store $name", ({ create }) => {
  const child = workflow("child", async (ctx, name: string) => `${name} ${(await ctx.listen("go")).value}`);
  const parent = workflow("parent", async (ctx) => {
    const early = await ctx.startChild(child, "early", { name: "early" });
    await ctx.step("between", () => 1);
    const late = await ctx.startChild(child, "late", { name: "late" });
    return [await early.result(), await late.result(), late.runId];
  });

  it("a rewind cancels children started after the record, and delivers the ends of earlier children again", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [parent, child] });
    const run = await engine.start(parent, undefined, { id: "p" });
    await cluster.world.settle();
    await engine.send("p//early", "go", 1);
    await engine.send("p//late", "go", 2);
    expect(await cluster.result(run)).toEqual(["early 1", "late 2", "p//late"]);
    const { children } = await run.rewind("late");
    expect(children).toEqual(["p//late"]);
    await cluster.world.settle();
    const again = (await engine.list({ status: ["suspended"], workflow: "child" })).items.map(({ id }) => id);
    expect(again).toHaveLength(1);
    expect(again[0]).not.toBe("p//late");
    await engine.send(again[0]!, "go", 3);
    expect(await cluster.result(run)).toEqual(["early 1", "late 3", again[0]]);
  });

  it("a rewound run ignores the ends of its cancelled and detached children", async () => {
    for (const children of ["cancel", "detach"] as const) {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [parent, child] });
      const run = await engine.start(parent, undefined, { id: "p" });
      await cluster.world.settle();
      await run.rewind("between", { children });
      await cluster.world.settle();
      expect(await engine.run("p//late").status()).toBe(children === "cancel" ? "cancelled" : "suspended");
      await engine.send("p//early", "go", 1);
      if (children === "detach") await engine.send("p//late", "go", "stale");
      await cluster.world.settle();
      expect(await run.status()).toBe("suspended");
      const [fresh] = (await engine.list({ status: ["suspended"], workflow: "child" })).items;
      await engine.send(fresh!.id, "go", 2);
      expect(await cluster.result(run)).toEqual(["early 1", "late 2", fresh!.id]);
    }
  });

  it("a rewound run sends its messages again, with new ids", async () => {
    const cluster = await create(onTestFinished);
    const sink = workflow("sink", async (ctx) => (await ctx.listenN("m", 2)).messages.map(({ value }) => value));
    const sends = workflow("sends", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.send("sink", "m", "hello");
    });
    const engine = await cluster.engine({ workflows: [sink, sends] });
    const target = await engine.start(sink, undefined, { id: "sink" });
    const run = await engine.start(sends, undefined);
    await cluster.result(run);
    await run.rewind("a");
    await cluster.result(run);
    expect(await cluster.result(target)).toEqual(["hello", "hello"]);
  });
});

describe.each(TEST_STORES)("rewinding into a loop, on the store $name", ({ create }) => {
  const rounds = (ran: string[], over: object, last = 5) =>
    workflow("rounds", async (ctx) => {
      await ctx.step("before", () => ran.push("before"));
      const sum = await ctx.loop({
        name: "loop",
        state: 0,
        run: async (c: Ctx, state: number, round: number) => {
          await c.step("x", () => ran.push(`x${round}`));
          await c.step("y", () => ran.push(`y${round}`));
          return round === last ? Loop.break(state + round) : Loop.continue(state + round);
        },
        ...over,
      });
      await ctx.listen("go");
      return sum;
    });

  it.each([{ commitInterval: 1 }, { commitInterval: 2 }, { commitInterval: 20 }])(
    "a rewind into a loop repeats the whole iteration and the later ones, with the same state: %j",
    async (history) => {
      const cluster = await create(onTestFinished);
      const ran: string[] = [];
      const flow = rounds(ran, history);
      const engine = await cluster.engine({ workflows: [flow] });
      const run = await engine.start(flow, undefined);
      await cluster.world.settle();
      ran.length = 0;
      await run.rewind("loop/~4/y");
      await run.send("go", null);
      expect(await cluster.result(run)).toBe(15);
      expect(ran).toEqual(["x4", "y4", "x5", "y5"]);
      await run.rewind("loop/~4");
      expect(await cluster.result(run)).toBe(15);
      expect(ran).toEqual(["x4", "y4", "x5", "y5", "x4", "y4", "x5", "y5"]);
      await run.rewind("loop");
      expect(await cluster.result(run)).toBe(15);
      expect(ran.slice(8, 10)).toEqual(["x0", "y0"]);
    },
  );

  it("a rewind to an iteration without a stored state is rejected, and a later iteration is accepted", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const flow = rounds(ran, { commitInterval: 4, historyEvery: 4, historyKeep: 5 }, 21);
    const engine = await cluster.engine({ workflows: [flow] });
    const run = await engine.start(flow, undefined);
    await cluster.world.settle();
    const kept = [...new Set((await run.journal()).map(({ location }) => location.split("/")[1] ?? ""))];
    await expect(run.rewind("loop/~1/x")).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    expect(kept).not.toContain("~1");
    expect(kept).toContain("~18");
    await expect(run.rewind("loop/~18/x")).rejects.toThrow(/loop loop has removed that iteration/);
    ran.length = 0;
    await run.rewind("loop/~21/x");
    await run.send("go", null);
    expect(await cluster.result(run)).toBe(231);
    expect(ran).toEqual(["x21", "y21"]);
  });

  it("a rewind into a loop works while the loop sleeps", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const sleepy = workflow("sleepy", async (ctx) =>
      ctx.loop({
        name: "loop",
        state: 0,
        run: async (c: Ctx, state: number, round: number) => {
          await c.step("x", () => ran.push(`x${round}`));
          if (round === 2) return Loop.break(state);
          await c.sleep("10 s");
          return Loop.continue(state + 1);
        },
      }),
    );
    const engine = await cluster.engine({ workflows: [sleepy] });
    const run = await engine.start(sleepy, undefined);
    await cluster.world.settle();
    await cluster.world.advance("11 s");
    await run.rewind("loop/~1/x");
    await cluster.world.settle();
    expect(ran).toEqual(["x0", "x1", "x1"]);
    await cluster.world.advance("11 s");
    expect(await cluster.result(run)).toBe(2);
  });
});

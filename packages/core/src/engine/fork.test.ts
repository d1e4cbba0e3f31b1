import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, Loop, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("fork, on the store $name", ({ create }) => {
  const ordering = (ran: string[]) =>
    workflow("order", async (ctx, input: { readonly cents: number }) => {
      const id = ctx.uuid();
      const price = await ctx.step("price", () => {
        ran.push("price");
        return input.cents;
      });
      const { value } = await ctx.listen<string>("approve");
      const paid = await ctx.step("pay", () => {
        ran.push("pay");
        return price + 1;
      });
      return { id, price, paid, by: value, cents: input.cents };
    });

  it("a fork copies the journal up to a record, executes only later steps, and leaves the original unchanged", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const order = ordering(ran);
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, { cents: 100 }, { id: "r", tags: ["blue"] });
    await run.send("approve", "ann");
    const first = await cluster.finish(run);
    const before = await run.journal();
    const fork = await engine.fork("r", "pay", { id: "f", by: "ann", why: "what if" });
    expect(await cluster.finish(fork)).toEqual(first);
    expect(ran).toEqual(["price", "pay", "pay"]);
    expect(await run.journal()).toEqual(before);
    expect(await engine.get("f")).toMatchObject({ workflow: "order", tags: ["blue"], status: "completed" });
  });

  it("a fork, and a fork of a fork, replays with the original's start time and random numbers", async () => {
    const cluster = await create(onTestFinished);
    const timed = workflow("timed", async (ctx) => {
      const began = ctx.now();
      const draw = ctx.random();
      await ctx.step(`at ${began}`, () => 1);
      await ctx.sleep("5 s");
      return { began, draw, slept: ctx.now() };
    });
    const engine = await cluster.engine({ workflows: [timed] });
    const first = await cluster.finish(await engine.start(timed, undefined, { id: "r" }));
    await cluster.world.advance("20 s");
    const forkedAt = cluster.world.clock.now();
    await engine.fork("r", "sleep", { id: "f" });
    const second = await cluster.finish(engine.run<typeof first>("f"));
    expect(second).toEqual({ ...first, slept: forkedAt + 5_000 });
    await cluster.world.advance("20 s");
    await engine.fork("f", "sleep", { id: "g" });
    expect(await cluster.finish(engine.run<typeof first>("g"))).toMatchObject({ began: first.began, draw: first.draw });
  });

  it("a fork has its own random numbers and ids after the fork point, the same in every replay", async () => {
    const cluster = await create(onTestFinished);
    const draw = workflow("draw", async (ctx) => {
      const before = [ctx.uuid(), ctx.random()];
      await ctx.step("a", () => 1);
      const between = [ctx.uuid(), ctx.random()];
      await ctx.step("b", () => 1);
      await ctx.listen("go");
      return { before, between, after: [ctx.uuid(), ctx.random()] };
    });
    const engine = await cluster.engine({ workflows: [draw] });
    const run = await engine.start(draw, undefined, { id: "r" });
    await run.send("go", null);
    const first = await cluster.finish(run);
    await engine.fork("r", "b", { id: "f" });
    await engine.fork("r", 0, { id: "z" });
    await cluster.world.settle();
    // The forks are replayed by another process.
    const heir = await cluster.takeOver(engine, { workflows: [draw] });
    await heir.fork("f", null, { id: "g" });
    for (const id of ["f", "g", "z"]) await heir.send(id, "go", null);
    const [f, g, z] = (await Promise.all(["f", "g", "z"].map((id) => cluster.finish(heir.run<typeof first>(id))))) as [
      typeof first,
      typeof first,
      typeof first,
    ];
    const all = [first, f, g, z];
    expect([f.before, g.before]).toEqual([first.before, first.before]);
    expect(g.between).toEqual(f.between);
    const drawn = (values: ReadonlyArray<readonly unknown[]>): number => new Set(values.flat()).size;
    expect(drawn([first.before, z.before])).toBe(4);
    expect(drawn([first.between, f.between, z.between])).toBe(6);
    expect(drawn(all.map(({ after }) => after))).toBe(8);
  });

  it("a fork in a loop draws the same numbers in a replay after its iterations were removed", async () => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    const looping = workflow("looping", async (ctx) => {
      const before = ctx.uuid();
      return await ctx.loop({
        name: "l",
        state: [before],
        commitInterval: 1,
        run: async (c: Ctx, drawn: string[], round: number) => {
          const id = c.uuid();
          seen.push(`${ctx.runId} ${round} ${id}`);
          await c.listen("next");
          return round === 4 ? Loop.break([...drawn, id]) : Loop.continue([...drawn, id]);
        },
      });
    });
    const engine = await cluster.engine({ workflows: [looping] });
    const run = await engine.start(looping, undefined, { id: "r" });
    for (let n = 0; n < 2; n += 1) await run.send("next", n);
    await cluster.world.settle();
    await engine.fork("r", null, { id: "f" });
    for (let n = 2; n < 4; n += 1) await engine.send("f", "next", n);
    await cluster.world.settle();
    const heir = await cluster.takeOver(engine, { workflows: [looping] });
    for (let n = 2; n < 5; n += 1) await heir.send("r", "next", n);
    await heir.send("f", "next", 4);
    const [first, fork] = [
      await cluster.finish(heir.run<string[]>("r")),
      await cluster.finish(heir.run<string[]>("f")),
    ];
    expect(fork.slice(0, 3)).toEqual(first.slice(0, 3));
    expect(new Set([...first, ...fork]).size).toBe(9);
    const rounds = new Set(seen.filter((line) => line.startsWith("f ")));
    expect([...rounds].filter((line) => line.startsWith("f 4 "))).toHaveLength(1);
  });

  it("a fork with another input and patched results takes another path", async () => {
    const cluster = await create(onTestFinished);
    const order = ordering([]);
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, { cents: 100 }, { id: "r" });
    await run.send("approve", "ann");
    const first = await cluster.finish(run);
    const fork = await engine.fork("r", "pay", { input: { cents: 5 }, patch: { price: 7, approve: "bob" } });
    expect(await cluster.finish(fork)).toEqual({ ...first, cents: 5, price: 7, paid: 8, by: "bob" });
  });

  it("a repeated fork with the same id returns the existing run, and another run's id is rejected", async () => {
    const cluster = await create(onTestFinished);
    const order = ordering([]);
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, { cents: 100 }, { id: "r" });
    await cluster.world.settle();
    await engine.fork("r", null, { id: "f" });
    expect((await engine.fork("r", null, { id: "f" })).id).toBe("f");
    await expect(engine.fork("r", "price", { id: "f" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await expect(engine.fork("r", null, { id: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    for (const id of ["r", "f"]) await engine.send(id, "approve", id);
    expect(await cluster.finish(run)).toMatchObject({ by: "r" });
    expect(await cluster.finish(engine.run("f"))).toMatchObject({ by: "f" });
  });

  it("a repeated fork returns the existing run even after it continued as a new generation", async () => {
    const cluster = await create(onTestFinished);
    const again = workflow("again", async (ctx, n: number): Promise<number> => {
      await ctx.step("s", () => n);
      return n === 0 ? 0 : await ctx.continueAs(n - 1);
    });
    const engine = await cluster.engine({ workflows: [again] });
    await cluster.finish(await engine.start(again, 0, { id: "r" }));
    const fork = await engine.fork("r", "s", { id: "f", input: 2 });
    expect(await cluster.finish(fork)).toBe(0);
    expect((await engine.fork("r", "s", { id: "f", input: 2 })).id).toBe("f");
  });

  it("a fork is rejected while a child is open, and receives the result of an ended child", async () => {
    const cluster = await create(onTestFinished);
    const child = workflow("child", async (ctx) => (await ctx.listen<number>("go")).value);
    const parent = workflow("parent", async (ctx) => {
      const handle = await ctx.startChild(child, undefined);
      await ctx.step("between", () => 1);
      return await handle.result();
    });
    const engine = await cluster.engine({ workflows: [child, parent] });
    const run = await engine.start(parent, undefined, { id: "r" });
    await cluster.world.settle();
    await expect(engine.fork("r", "between")).rejects.toMatchObject({ code: "CHILD_OPEN" });
    await engine.send("r//child", "go", 42);
    expect(await cluster.finish(run)).toBe(42);
    const fork = await engine.fork("r", "between", { id: "f" });
    expect(await cluster.finish(fork)).toBe(42);
  });

  it("a fork from a missing record, with a patch of a missing record, or of a missing run is rejected", async () => {
    const cluster = await create(onTestFinished);
    const order = ordering([]);
    const engine = await cluster.engine({ workflows: [order] });
    await engine.start(order, { cents: 1 }, { id: "r" });
    await cluster.world.settle();
    await expect(engine.fork("r", "nowhere")).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    await expect(engine.fork("r", null, { patch: { nowhere: 1 } })).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    await expect(engine.fork("nobody", null)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect((await engine.list({ limit: 10 })).items.map(({ id }) => id)).toEqual(["r"]);
  });
});

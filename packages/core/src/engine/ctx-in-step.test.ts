import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type Ctx, type PawlError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Call = (ctx: Ctx) => unknown;

const child = workflow("child", async () => "done");

const OPERATIONS: Readonly<Record<string, Call>> = {
  step: (ctx) => ctx.step("b", () => 1),
  tryStep: (ctx) => ctx.tryStep("b", () => 1),
  transaction: (ctx) => ctx.transaction("b", () => 1),
  resource: (ctx) => ctx.resource("b", { acquire: () => 1 }),
  sleep: (ctx) => ctx.sleep(1),
  sleepUntil: (ctx) => ctx.sleepUntil(1),
  listen: (ctx) => ctx.listen("b"),
  listenN: (ctx) => ctx.listenN("b", 2),
  awaitEvent: (ctx) => ctx.awaitEvent("b"),
  select: (ctx) => ctx.select({ b: { message: "b" } }),
  join: (ctx) => ctx.join("b", { c: () => 1 }),
  race: (ctx) => ctx.race("b", { c: () => 1 }),
  map: (ctx) => ctx.map("b", [1], () => 1),
  loop: (ctx) => ctx.loop({ name: "b", run: async () => ({ kind: "break", value: 1 }) as never }),
  try: (ctx) => ctx.try("b", () => 1),
  getVersion: (ctx) => ctx.getVersion("b", 2),
  removed: (ctx) => ctx.removed("b", "step"),
  child: (ctx) => ctx.child(child, undefined),
  startChild: (ctx) => ctx.startChild(child, undefined),
  continueAs: (ctx) => ctx.continueAs(undefined),
  rollbackCheckpoint: (ctx) => ctx.rollbackCheckpoint("b"),
  cancel: (ctx) => ctx.cancel("b"),
  result: (ctx) => ctx.result("b"),
  send: (ctx) => ctx.send("b", "c", 1),
  emit: (ctx) => ctx.emit("b", 1),
  random: (ctx) => ctx.random(),
  uuid: (ctx) => ctx.uuid(),
};

async function codeOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return "accepted";
  } catch (error) {
    return (error as PawlError).code;
  }
}

describe.each(TEST_STORES)("ctx inside a step body, on the store $name", ({ create, transactions }) => {
  it.each(Object.keys(OPERATIONS))(
    "ctx.%s is rejected when a step body calls it, before and after an await",
    async (name) => {
      const cluster = await create(onTestFinished);
      const call = OPERATIONS[name] as Call;
      const outer = workflow("outer", async (ctx) =>
        ctx.step("a", async () => {
          const first = await codeOf(() => call(ctx));
          await new Promise((resolve) => setImmediate(resolve));
          return [first, await codeOf(() => call(ctx))];
        }),
      );
      const engine = await cluster.engine({ workflows: [outer, child] });
      const run = await engine.start(outer, undefined);
      expect(await cluster.finish(run)).toEqual(["CTX_IN_STEP", "CTX_IN_STEP"]);
      expect((await run.journal()).map(({ kind, location }) => `${kind} ${location}`)).toEqual(["step a"]);
    },
  );

  it("a step whose body calls ctx fails at once, with the step, the operation and the cure", async () => {
    const cluster = await create(onTestFinished);
    let bodies = 0;
    const outer = workflow("outer", async (ctx) =>
      ctx.step("a", async () => {
        bodies += 1;
        await ctx.step("b", () => 1);
      }),
    );
    const engine = await cluster.engine({ workflows: [outer] });
    const { cause } = await cluster.failure(await engine.start(outer, undefined, { id: "r" }));
    expect(cause).toMatchObject({
      code: "CTX_IN_STEP",
      message: 'the body of step a of run r used ctx for "b"; call ctx in the workflow function, beside the step',
    });
    expect(bodies).toBe(1);
  });

  it("locations after a step whose body called ctx are the same in a replay", async () => {
    const cluster = await create(onTestFinished);
    const outer = workflow("outer", async (ctx) => {
      await ctx.step("a", () => codeOf(() => ctx.step("b", () => 1)));
      await ctx.step("b", () => 2);
      await ctx.listen("go");
      return await ctx.step("b", () => 3);
    });
    const first = await cluster.engine({ workflows: [outer] });
    const run = await first.start(outer, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [outer] });
    await second.run(run.id).send("go", 1);
    expect(await cluster.finish(second.run(run.id))).toBe(3);
    expect((await second.run(run.id).journal()).map(({ location }) => location)).toEqual(["a", "b", "go", "b#2"]);
  });

  it("a rollback that calls ctx fails and is reported", async () => {
    const cluster = await create(onTestFinished);
    const codes: unknown[] = [];
    const outer = workflow("outer", async (ctx) => {
      const rollback = async (): Promise<void> => {
        codes.push(await codeOf(() => ctx.step("undo", () => 1)));
      };
      await ctx.step("a", () => 1, { rollback });
      await ctx.step("b", () => Promise.reject(new CriticalError("no")));
    });
    const engine = await cluster.engine({ workflows: [outer] });
    await cluster.failure(await engine.start(outer, undefined));
    expect(codes).toEqual(["CTX_IN_STEP"]);
  });

  it.runIf(transactions !== "none")("the body of a transaction cannot call ctx", async () => {
    const cluster = await create(onTestFinished);
    const outer = workflow("outer", async (ctx) => ctx.transaction("a", () => void ctx.uuid()));
    const engine = await cluster.engine({ workflows: [outer] });
    const { cause } = await cluster.failure(await engine.start(outer, undefined));
    expect(cause).toMatchObject({ code: "CTX_IN_STEP" });
  });

  it("a step body reads ctx.now, ctx.runId and ctx.log", async () => {
    const cluster = await create(onTestFinished);
    const outer = workflow("outer", async (ctx) =>
      ctx.step("a", async () => {
        await null;
        ctx.log("in the body");
        return [ctx.runId, typeof ctx.now(), ctx.signal.aborted];
      }),
    );
    const engine = await cluster.engine({ workflows: [outer] });
    expect(await cluster.finish(await engine.start(outer, undefined, { id: "r" }))).toEqual(["r", "number", false]);
  });

  it("a step body starts a run of the same engine, whose code uses its own ctx", async () => {
    const cluster = await create(onTestFinished);
    const inner = workflow("inner", async (ctx) => ctx.step("b", () => 2));
    const outer = workflow("outer", async (ctx) => {
      await ctx.step("a", async () => void (await engine.start(inner, undefined, { id: "inner" })));
      return await ctx.step("c", () => 3);
    });
    const engine = await cluster.engine({ workflows: [outer, inner] });
    expect(await cluster.finish(await engine.start(outer, undefined))).toBe(3);
    expect(await cluster.finish(engine.run("inner"))).toBe(2);
  });
});

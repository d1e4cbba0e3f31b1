import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, type PawlError, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const double = workflow("double", async (ctx, n: number) => ctx.step("double", () => n * 2));
const failing = workflow("failing", { codeErrors: "fail" }, async (): Promise<string> => {
  throw Object.assign(new RangeError("out of range"), { code: "E_RANGE" });
});
const slow = workflow("slow", async (ctx) => {
  await ctx.sleep("1 minute");
  return "slow";
});

describe.each(TEST_STORES)("children, on the store $name", ({ create }) => {
  it("a child returns its output to its parent, whichever worker executes it", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx, n: number) => (await ctx.child(double, n)) + 1);
    const one = await cluster.engine({ workflows: [parent] });
    await cluster.engine({ workflows: [double] });
    const run = await one.start(parent, 20);
    await cluster.world.advance("5 s");
    expect(await cluster.result(run)).toBe(41);
  });

  it("a child's id is made of its parent's id and its location, and its row names the parent", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx) => {
      const first = await ctx.startChild(double, 1);
      const second = await ctx.startChild(double, 2, { name: "other", tags: ["t"], onParentClose: "abandon" });
      return [first.runId, second.runId, await first.result(), await second.result()];
    });
    const engine = await cluster.engine({ workflows: [parent, double] });
    const run = await engine.start(parent, undefined, { id: "p" });
    expect(await cluster.result(run)).toEqual(["p//double", "p//other", 2, 4]);
    expect(await engine.get("p//other")).toMatchObject({
      tags: ["t"],
      parent: { runId: "p", location: "other", onClose: "abandon" },
      status: "completed",
    });
  });

  it("ctx.child rejects with CHILD_FAILED and the child's failure as cause when the child fails", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx) => {
      try {
        return await ctx.child(failing, undefined);
      } catch (error) {
        const { name, code, cause } = error as PawlError;
        return {
          name,
          code,
          cause: { name: (cause as Error).name, message: (cause as Error).message, code: (cause as PawlError).code },
        };
      }
    });
    const engine = await cluster.engine({ workflows: [parent, failing] });
    expect(await cluster.result(await engine.start(parent, undefined))).toEqual({
      name: "ChildWorkflowFailed",
      code: "CHILD_FAILED",
      cause: { name: "RangeError", message: "out of range", code: "E_RANGE" },
    });
  });

  it("ctx.child rejects with CHILD_FAILED when the child is cancelled", async () => {
    const cluster = await create(onTestFinished);
    const parent = workflow("parent", async (ctx) => ctx.child(slow, undefined));
    const engine = await cluster.engine({ workflows: [parent, slow] });
    const run = await engine.start(parent, undefined, { id: "p" });
    await cluster.world.settle();
    await engine.cancel("p//slow", "no longer needed");
    const error = await cluster.failure(run);
    expect(error.cause).toMatchObject({ code: "CHILD_FAILED" });
    expect((error.cause as Error).message).toContain("no longer needed");
  });

  it("a failed child yields undefined when propagateFailure is false, in the call or in the engine", async () => {
    const cluster = await create(onTestFinished);
    const perCall = workflow("perCall", async (ctx) => [
      await ctx.child(failing, undefined, { propagateFailure: false }),
    ]);
    const perEngine = workflow("perEngine", async (ctx) => {
      const quiet = await ctx.child(failing, undefined);
      const loud = await ctx
        .child(failing, undefined, { propagateFailure: true })
        .catch((error: PawlError) => error.code);
      return [quiet, loud];
    });
    const strict = await cluster.engine({ workflows: [perCall, failing] });
    expect(await cluster.result(await strict.start(perCall, undefined))).toEqual([undefined]);
    const lenient = await cluster.engine({ workflows: [perEngine, failing], propagateChildFailures: false });
    expect(await cluster.result(await lenient.start(perEngine, undefined))).toEqual([undefined, "CHILD_FAILED"]);
  });

  it.each([
    ["completes", async (): Promise<string> => "done", "completed"],
    [
      "fails",
      async (): Promise<string> => {
        throw new Error("no");
      },
      "failed",
    ],
  ] as const)(
    "when a parent %s, its awaited children are cancelled, and its started children continue unless onParentClose is cancel",
    async (_, end, status) => {
      const cluster = await create(onTestFinished);
      const parent = workflow("parent", async (ctx: Ctx): Promise<string> => {
        await ctx.startChild(slow, undefined, { name: "closed", onParentClose: "cancel" });
        await ctx.startChild(slow, undefined, { name: "left" });
        const awaited = ctx.child(slow, undefined, { name: "awaited" });
        await Promise.race([awaited, ctx.listen("end")]);
        return await end();
      });
      const engine = await cluster.engine({ workflows: [parent, slow] });
      const run = await engine.start(parent, undefined, { id: "p" });
      await cluster.world.settle();
      await run.send("end", null);
      await cluster.world.settle();
      expect(await run.status()).toBe(status);
      for (const name of ["closed", "awaited"]) expect(await engine.run(`p//${name}`).status()).toBe("cancelled");
      expect(await engine.run("p//left").status()).toBe("suspended");
      await cluster.world.advance("1 minute");
      expect(await cluster.result(engine.run("p//left"))).toBe("slow");
    },
  );

  it("a child whose workflow no worker has ends with its parent", async () => {
    const cluster = await create(onTestFinished);
    const unknown = workflow("unknown", async () => "never");
    const parent = workflow("parent", async (ctx) => {
      const free = await ctx.startChild(unknown, undefined, { name: "free" });
      await Promise.race([ctx.child(unknown, undefined, { name: "awaited" }), ctx.listen("end")]);
      return free.runId;
    });
    const engine = await cluster.engine({ workflows: [parent] });
    const run = await engine.start(parent, undefined, { id: "p" });
    await cluster.world.settle();
    expect(await engine.run("p//awaited").status()).toBe("pending");
    await run.send("end", null);
    expect(await cluster.result(run)).toBe("p//free");
    expect(await engine.run("p//awaited").status()).toBe("cancelled");
    expect(await cluster.failure(engine.run("p//awaited"))).toMatchObject({ code: "RUN_CANCELLED" });
    expect(await engine.run("p//free").status()).toBe("pending");
    const late = await cluster.engine({ workflows: [unknown] });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(late.run("p//free"))).toBe("never");
    expect(await late.run("p//awaited").status()).toBe("cancelled");
  });

  it("a cancel of a run also cancels its children and their children", async () => {
    const cluster = await create(onTestFinished);
    const middle = workflow("middle", async (ctx) => ctx.child(slow, undefined));
    const top = workflow("top", async (ctx) => ctx.child(middle, undefined));
    const engine = await cluster.engine({ workflows: [top, middle, slow] });
    const run = await engine.start(top, undefined, { id: "t" });
    await cluster.world.settle();
    expect(await run.cancel()).toBe(true);
    await cluster.world.settle();
    expect(await engine.run("t//middle").status()).toBe("cancelled");
    expect(await engine.run("t//middle//slow").status()).toBe("cancelled");
  });

  it("a child starts once and its end is delivered once, whichever commit the parent's process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const started: string[] = [];
      const leaf = workflow("leaf", async (ctx) => ctx.step("work", () => void started.push(ctx.runId)));
      const parent = workflow("parent", async (ctx) => {
        await ctx.step("before", () => 1);
        await ctx.child(leaf, undefined);
        await ctx.child(leaf, undefined);
        return "done";
      });
      const client = await cluster.engine({ workflows: [leaf] });
      const run = await client.start(parent, undefined, { id: "p" });
      const doomed = await cluster.engine({ workflows: [parent], crashAt });
      await cluster.world.advance("1 s");
      await cluster.engine({ workflows: [parent] });
      expect(await cluster.finish(run)).toBe("done");
      expect(started).toEqual(["p//leaf", "p//leaf#2"]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("children nested five deep finish with one slot: a waiting parent holds none", async () => {
    const cluster = await create(onTestFinished);
    const nest = workflow(
      "nest",
      async (ctx, depth: number): Promise<number> => (depth === 0 ? 0 : 1 + (await ctx.child(nest, depth - 1))),
    );
    const engine = await cluster.engine({ workflows: [nest], concurrency: 1 });
    expect(await cluster.finish(await engine.start(nest, 5))).toBe(5);
  });

  it("one hundred concurrent children all return to their parent", async () => {
    const cluster = await create(onTestFinished);
    const fan = workflow("fan", async (ctx) => {
      const all = await Promise.all(Array.from({ length: 100 }, (_, n) => ctx.child(double, n)));
      return all.reduce((sum, each) => sum + each, 0);
    });
    const engine = await cluster.engine({ workflows: [fan, double], concurrency: 7 });
    expect(await cluster.finish(await engine.start(fan, undefined))).toBe(9_900);
  });
});

describe.each(TEST_STORES)("continueAs, on the store $name", ({ create }) => {
  const counter = workflow("counter", async (ctx, state: { n: number; got: unknown[] }): Promise<unknown> => {
    const { value } = await ctx.listen("item");
    const got = [...state.got, value];
    await ctx.step("note", () => null);
    return state.n === 0 ? got : await ctx.continueAs({ n: state.n - 1, got });
  });

  it("continueAs restarts the run with a new input and an empty journal, and keeps its id and inbox", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [counter] });
    const run = await engine.start(counter, { n: 3, got: [] });
    for (const item of ["a", "b", "c", "d"]) await run.send("item", item);
    expect(await cluster.result(run)).toEqual(["a", "b", "c", "d"]);
    expect((await run.journal()).map((record) => record.location)).toEqual(["item", "note"]);
    expect(await engine.get(run.id)).toMatchObject({ generation: 3 });
  });

  it("continueAs loses no message, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const client = await cluster.engine();
      const run = await client.start(counter, { n: 2, got: [] });
      const doomed = await cluster.engine({ workflows: [counter], crashAt });
      for (const item of ["a", "b", "c"]) {
        await run.send("item", item);
        await cluster.world.settle();
      }
      await cluster.engine({ workflows: [counter] });
      expect(await cluster.finish(run)).toEqual(["a", "b", "c"]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("continueAs can switch to another workflow", async () => {
    const cluster = await create(onTestFinished);
    const second = workflow("second", async (_, input: { from: string }) => `second, from ${input.from}`);
    const first = workflow("first", async (ctx) => ctx.continueAs(second, { from: "first" }));
    const engine = await cluster.engine({ workflows: [first, second] });
    const run = await engine.start(first, undefined);
    expect(await cluster.result(run)).toBe("second, from first");
    expect(await engine.get(run.id)).toMatchObject({ workflow: "second" });
  });

  it("continueAs keeps the journal bounded over hundreds of generations", async () => {
    const cluster = await create(onTestFinished);
    const loop = workflow("loop", async (ctx, n: number): Promise<number> => {
      for (let i = 0; i < 3; i += 1) await ctx.step("work", () => i);
      return n === 0 ? ctx.now() : await ctx.continueAs(n - 1);
    });
    const engine = await cluster.engine({ workflows: [loop] });
    const run = await engine.start(loop, 300);
    await cluster.result(run);
    expect(await run.journal()).toHaveLength(3);
  });

  it("each generation starts children with new ids", async () => {
    const cluster = await create(onTestFinished);
    const ids: string[] = [];
    const parent = workflow("parent", async (ctx, n: number): Promise<string> => {
      const child = await ctx.startChild(double, n);
      await ctx.step("note", () => void ids.push(child.runId));
      await child.result();
      return n === 0 ? "done" : await ctx.continueAs(n - 1);
    });
    const engine = await cluster.engine({ workflows: [parent, double] });
    await cluster.result(await engine.start(parent, 2, { id: "p" }));
    expect(new Set(ids).size).toBe(3);
  });

  it("continueAs with an input that cannot be stored fails the run", async () => {
    const cluster = await create(onTestFinished);
    const bad = workflow("bad", async (ctx) => ctx.continueAs({ call: () => 1 }));
    const engine = await cluster.engine({ workflows: [bad] });
    const error = await cluster.failure(await engine.start(bad, undefined));
    expect(error.cause).toMatchObject({ code: "PAYLOAD_UNSUPPORTED" });
  });
});

describe.each(TEST_STORES)("send and emit from a workflow, on the store $name", ({ create }) => {
  it("a workflow's send and emit happen once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const target = workflow("target", async (ctx) => {
        const got: unknown[] = [];
        for (;;) {
          const next = await ctx.select({ m: { message: "m" }, e: { event: "e" }, end: { message: "end" } });
          if (next.key === "end") return got;
          got.push([next.key, next.value]);
        }
      });
      const sender = workflow("sender", async (ctx, to: string) => {
        await ctx.step("before", () => 1);
        await ctx.send(to, "m", 1);
        await ctx.step("between", () => 1);
        await ctx.emit("e", 2);
        await ctx.send(to, "m", 3);
      });
      const client = await cluster.engine({ workflows: [target] });
      const receiver = await client.start(target, undefined);
      const run = await client.start(sender, receiver.id);
      const doomed = await cluster.engine({ workflows: [sender], crashAt });
      await cluster.world.advance("1 s");
      await cluster.engine({ workflows: [sender] });
      await cluster.finish(run);
      await cluster.world.advance("2 s");
      await receiver.send("end", null);
      const got = await cluster.finish(receiver);
      expect([...got].sort()).toEqual([
        ["e", 2],
        ["m", 1],
        ["m", 3],
      ]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(4);
  });

  it("a workflow's send, emit and startChild commit together with the step before them", async () => {
    const cluster = await create(onTestFinished);
    const sender = workflow("sender", async (ctx) => {
      await ctx.step("work", () => 1);
      await ctx.send("nobody", "m", 1);
      await ctx.emit("e", 1);
      await ctx.startChild(double, 1, { onParentClose: "abandon" });
      return "done";
    });
    const engine = await cluster.engine({ workflows: [sender] });
    const before = cluster.commits(engine);
    await cluster.result(await engine.start(sender, undefined));
    expect(cluster.commits(engine) - before).toBe(2);
  });

  it("ctx.send and ctx.emit reject an invalid target, name or value at the call", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) => {
      const codes: string[] = [];
      const note = (error: PawlError): void => void codes.push(error.code);
      await ctx.send("", "m", 1).catch(note);
      await ctx.send("r", "", 1).catch(note);
      await ctx.send("r", "m", () => 1).catch(note);
      await ctx.emit("", 1).catch(note);
      await ctx.emit("t", Symbol("s")).catch(note);
      await ctx.emit("t", 1, { expireAfter: -1 }).catch(note);
      return codes;
    });
    const engine = await cluster.engine({ workflows: [odd] });
    expect(await cluster.result(await engine.start(odd, undefined))).toEqual([
      "ID_INVALID",
      "NAME_INVALID",
      "PAYLOAD_UNSUPPORTED",
      "NAME_INVALID",
      "PAYLOAD_UNSUPPORTED",
      "DURATION_INVALID",
    ]);
  });

  it("a child without an input starts with the input undefined", async () => {
    const cluster = await create(onTestFinished);
    const echo = workflow("echo", async (_, input?: string) => [input]);
    const parent = workflow("parent", async (ctx) => [
      await ctx.child(echo),
      await (await ctx.startChild(echo)).result(),
    ]);
    const engine = await cluster.engine({ workflows: [echo, parent] });
    expect(await cluster.result(await engine.start(parent))).toEqual([[undefined], [undefined]]);
  });

  it("a child with a delay starts after it, and its tags are listed", async () => {
    const cluster = await create(onTestFinished);
    const late = workflow("late", async (ctx) => ctx.now());
    const starts = workflow("starts", async (ctx) => {
      const before = ctx.now();
      return (await ctx.child(late, undefined, { delay: "1 hour", tags: ["nightly"] })) - before;
    });
    const engine = await cluster.engine({ workflows: [late, starts] });
    const run = await engine.start(starts);
    await cluster.world.advance("59 minutes");
    expect((await engine.list({ tag: "nightly" })).items).toMatchObject([{ status: "pending" }]);
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toBe(3_600_000);
  });

  it("child.cancel cancels the child, and its result rejects with the reason", async () => {
    const cluster = await create(onTestFinished);
    const waits = workflow("waits", async (ctx) => ctx.listen("never"));
    const parent = workflow("parent", async (ctx) => {
      const child = await ctx.startChild(waits, undefined, { name: "w", onParentClose: "abandon" });
      await child.cancel("not needed");
      await child.cancel("again");
      const error: unknown = await child.result().catch((thrown: unknown) => thrown);
      return [(error as PawlError).code, ((error as Error).cause as PawlError).code, String((error as Error).cause)];
    });
    const engine = await cluster.engine({ workflows: [waits, parent] });
    const run = await engine.start(parent);
    const [code, cause, text] = await cluster.result(run);
    expect([code, cause]).toEqual(["CHILD_FAILED", "RUN_CANCELLED"]);
    expect(text).toContain("not needed");
    expect((await run.journal()).map(({ location }) => location)).toEqual(["w", "w/cancel", "w/result"]);
  });

  it("ctx.cancel cancels any open run once, and ignores ended and missing runs", async () => {
    const cluster = await create(onTestFinished);
    const undone: string[] = [];
    const waits = workflow("waits", async (ctx) => {
      await ctx.step("book", () => "room", { rollback: (room) => void undone.push(room) });
      await ctx.listen("never");
    });
    const done = workflow("done", async () => "done");
    const stops = workflow("stops", async (ctx, ids: readonly string[]) => {
      for (const id of ids) await ctx.cancel(id, "stopped");
      await ctx.sleep("1 s");
      const codes: unknown[] = [];
      await ctx.cancel("").catch((error: PawlError) => codes.push(error.code));
      await ctx.cancel("a", 5 as never).catch((error: PawlError) => codes.push(error.code));
      return codes;
    });
    const first = await cluster.engine({ workflows: [waits, done, stops] });
    const run = await first.start(waits, undefined, { id: "open" });
    await cluster.result(await first.start(done, undefined, { id: "ended" }));
    const stopping = await first.start(stops, ["open", "ended", "missing"]);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [waits, done, stops] });
    expect(await cluster.finish(second.run(stopping.id))).toEqual(["ID_INVALID", "OPTION_INVALID"]);
    expect(await cluster.failure(second.run(run.id))).toMatchObject({
      code: "RUN_CANCELLED",
      cause: { message: "stopped" },
    });
    expect(undone).toEqual(["room"]);
    expect(await second.run("ended").status()).toBe("completed");
  });

  it("a run that cancels itself ends as cancelled when it waits next", async () => {
    const cluster = await create(onTestFinished);
    const self = workflow("self", async (ctx) => {
      await ctx.cancel(ctx.runId, "enough");
      await ctx.sleep("1 s");
    });
    const engine = await cluster.engine({ workflows: [self] });
    const run = await engine.start(self);
    await cluster.world.settle();
    expect(await run.status()).toBe("cancelled");
  });
});

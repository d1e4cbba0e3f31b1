import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, checkReplay, type EngineEvent, RetryAfterError, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Numbered resources, and a log of their acquires and releases. */
function depot() {
  const trace: string[] = [];
  const counts = new Map<string, number>();
  const open = new Set<string>();
  return {
    trace,
    open,
    how: (name: string) => ({
      acquire: () => {
        const count = (counts.get(name) ?? 0) + 1;
        counts.set(name, count);
        open.add(`${name}${count}`);
        trace.push(`+${name}${count}`);
        return `${name}${count}`;
      },
      release: (value: string) => {
        open.delete(value);
        trace.push(`-${value}`);
      },
    }),
  };
}

describe.each(TEST_STORES)("a resource, on the store $name", ({ create }) => {
  it("resources are held while the run executes, and released in reverse order when it completes", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const two = workflow("two", async (ctx) => {
      const a = await ctx.resource("a", how("a"));
      const b = await ctx.resource("b", { ...how("b"), acquire: async () => how("b").acquire() });
      await ctx.step("use", () => trace.push(`use ${a.value} ${b.value}`));
      return a.name;
    });
    const engine = await cluster.engine({ workflows: [two] });
    const run = await engine.start(two, undefined);
    expect(await cluster.result(run)).toBe("a");
    expect(trace).toEqual(["+a1", "+b1", "use a1 b1", "-b1", "-a1"]);
    expect((await run.journal()).map(({ location }) => location)).toEqual(["use"]);
  });

  it("resources are released when the run fails", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const bad = workflow("bad", async (ctx) => {
      await ctx.resource("a", how("a"));
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [bad] });
    expect(await cluster.failure(await engine.start(bad, undefined))).toMatchObject({ cause: { message: "no" } });
    expect(trace).toEqual(["+a1", "-a1"]);
  });

  it("a resource is released while a hot run is suspended, and acquired again before it resumes", async () => {
    const cluster = await create(onTestFinished);
    const { trace, open, how } = depot();
    const waits = workflow("waits", async (ctx) => {
      const a = await ctx.resource("a", how("a"));
      const b = await ctx.resource("b", how("b"));
      await ctx.step("one", () => trace.push(`one ${a.value}`));
      const { value } = await ctx.listen<string>("go");
      await ctx.step("two", () => trace.push(`two ${a.value} ${b.value} ${value}`));
    });
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    expect([...open]).toEqual([]);
    await run.send("go", "x");
    await cluster.result(run);
    const again = ["+a2", "+b2", "two a2 b2 x", "-b2", "-a2"];
    expect(trace).toEqual(["+a1", "+b1", "one a1", "-b1", "-a1", ...again]);
  });

  it("an acquire that fails with a RetryAfterError is repeated after its delay, and shouldRetry is awaited", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const slow = workflow("slow", async (ctx) => {
      const a = await ctx.resource("a", {
        acquire: ({ attempt }) => {
          at.push(cluster.world.now());
          throw attempt === 1 ? new RetryAfterError("busy", "9 s") : new TypeError("broken");
        },
        retry: { maxAttempts: 5, shouldRetry: async (error) => !(error instanceof TypeError) },
      });
      await ctx.step("use", () => a.value);
    });
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.advance("1 minute");
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "RESOURCE_UNAVAILABLE" } });
    expect(at.map((time) => time - at[0]!)).toEqual([0, 9_000]);
  });

  it("a run whose resource cannot be acquired fails even if its code ends right after the request", async () => {
    const cluster = await create(onTestFinished);
    const ends = workflow("ends", async (ctx) => {
      await ctx.resource("a", { acquire: () => Promise.reject(new Error("down")), retry: false });
      return "completed";
    });
    const engine = await cluster.engine({ workflows: [ends] });
    expect(await cluster.failure(await engine.start(ends))).toMatchObject({
      cause: { code: "RESOURCE_UNAVAILABLE", cause: { message: "down" } },
    });
  });

  it("another worker acquires its own resource, and its replay executes no step", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const waits = workflow("waits", async (ctx) => {
      const a = await ctx.resource("a", how("a"));
      await ctx.step("one", () => trace.push(`one ${a.value}`));
      await ctx.sleep("1 minute");
      return ctx.step("two", () => a.value);
    });
    const first = await cluster.engine({ workflows: [waits] });
    const run = await first.start(waits, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [waits] });
    expect(await cluster.finish(second.run(run.id))).toBe("a2");
    expect(trace).toEqual(["+a1", "one a1", "-a1", "+a2", "-a2"]);
  });

  it("no resource stays acquired and the order of the run stays the same, whichever commit the worker crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const doomedDepot = depot();
      const heirDepot = depot();
      const make = ({ how }: ReturnType<typeof depot>) =>
        workflow("race", async (ctx) => {
          const got: string[] = [];
          const branch = async (name: string): Promise<void> => {
            await ctx.step(`${name} 1`, () => name);
            await ctx.resource(name, { ...how(name), acquire: async () => (await null) ?? how(name).acquire() });
            got.push(name);
            await ctx.step(`${name} 2`, () => name);
          };
          await Promise.all([branch("a"), branch("b")]);
          await ctx.sleep("1 minute");
          got.push(await ctx.step("end", () => "end"));
          return got;
        });
      const client = await cluster.engine();
      const run = await client.start(make(depot()), undefined);
      const doomed = await cluster.engine({ workflows: [make(doomedDepot)], crashAt });
      await cluster.world.advance("1 s");
      await cluster.engine({ workflows: [make(heirDepot)] });
      expect(await cluster.finish(run)).toEqual(["a", "b", "end"]);
      expect([...heirDepot.open]).toEqual([]);
      if (!cluster.crashed(doomed)) expect([...doomedDepot.open]).toEqual([]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("resources are released when the run is cancelled, paused or lost", async () => {
    const cluster = await create(onTestFinished);
    const { trace, open, how } = depot();
    const busy = workflow("busy", async (ctx) => {
      const a = await ctx.resource("a", how("a"));
      await ctx.step("use", () => new Promise(() => trace.push(`use ${a.value}`)));
    });
    const engine = await cluster.engine({ workflows: [busy] });
    const cancelled = await engine.start(busy, undefined);
    const paused = await engine.start(busy, undefined);
    await cluster.world.settle();
    expect(open.size).toBe(2);
    const isCancelled = engine.cancel(cancelled.id);
    await engine.pause(paused.id, { now: true });
    await cluster.world.advance("10 s");
    expect(await isCancelled).toBe(true);
    expect([...open]).toEqual([]);
  });

  it("a resource is released at each continueAs and acquired by the next generation", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const again = workflow("again", async (ctx, n: number): Promise<number> => {
      const a = await ctx.resource("a", how("a"));
      await ctx.step("use", () => trace.push(`use ${a.value}`));
      return n === 0 ? 0 : await ctx.continueAs(n - 1);
    });
    const engine = await cluster.engine({ workflows: [again] });
    expect(await cluster.result(await engine.start(again, 1))).toBe(0);
    expect(trace).toEqual(["+a1", "use a1", "-a1", "+a2", "use a2", "-a2"]);
  });

  it("a failed acquire is retried according to its policy", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const start = cluster.world.now();
    const flaky = workflow("flaky", async (ctx) => {
      const db = await ctx.resource("db", {
        acquire: ({ attempt, signal }) => {
          at.push(cluster.world.now() - start);
          if (attempt < 3) throw new Error("not yet");
          return signal.aborted ? "aborted" : `try ${attempt}`;
        },
        retry: { maxAttempts: 3, initialMs: 1_000, factor: 3, jitter: 0 },
      });
      return ctx.step("use", () => db.value);
    });
    const engine = await cluster.engine({ workflows: [flaky] });
    expect(await cluster.finish(await engine.start(flaky, undefined))).toBe("try 3");
    expect(at).toEqual([0, 1_000, 4_000]);
  });

  it("a run fails with RESOURCE_UNAVAILABLE if a resource cannot be acquired, and releases the others", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    let broken = false;
    const needs = workflow("needs", async (ctx) => {
      await ctx.resource("a", how("a"));
      const b = await ctx.resource("b", {
        acquire: () => {
          if (broken) throw new CriticalError("gone");
          return "b";
        },
      });
      await ctx.step("use", () => b.value);
      await ctx.sleep("1 minute");
      await ctx.step("again", () => trace.push(b.value));
    });
    const first = await cluster.engine({ workflows: [needs] });
    const run = await first.start(needs, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [needs] });
    broken = true;
    await cluster.world.advance("2 minutes");
    const error = await cluster.failure(second.run(run.id));
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { code: "RESOURCE_UNAVAILABLE" } });
    expect((error.cause as Error).message).toContain(`resource b of run ${run.id}`);
    expect(trace).toEqual(["+a1", "-a1", "+a2", "-a2"]);
  });

  it("a failed release is logged and emitted, and affects neither the run nor other resources", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const messy = workflow("messy", async (ctx) => {
      await ctx.resource("a", how("a"));
      await ctx.resource("b", {
        acquire: () => "b",
        release: () => {
          throw new Error("stuck");
        },
      });
      return "done";
    });
    const engine = await cluster.engine({ workflows: [messy] });
    const events: EngineEvent[] = [];
    engine.on("resource.releaseFailed", (event) => events.push(event));
    const run = await engine.start(messy, undefined);
    expect(await cluster.result(run)).toBe("done");
    expect(trace).toEqual(["+a1", "-a1"]);
    expect(events).toMatchObject([{ runId: run.id, workflow: "messy", resource: "b", error: { message: "stuck" } }]);
    expect(cluster.log).toMatchObject([{ level: "error", text: "resource release failed" }]);
  });

  it("a disposable resource without a release function is disposed", async () => {
    const cluster = await create(onTestFinished);
    const trace: string[] = [];
    const uses = workflow("uses", async (ctx) => {
      await ctx.resource("plain", { acquire: () => 7 });
      await ctx.resource("sync", { acquire: () => ({ [Symbol.dispose]: () => trace.push("sync") }) });
      await ctx.resource("async", { acquire: () => ({ [Symbol.asyncDispose]: async () => trace.push("async") }) });
    });
    const engine = await cluster.engine({ workflows: [uses] });
    await cluster.result(await engine.start(uses, undefined));
    expect(trace).toEqual(["async", "sync"]);
  });

  it("a resource acquired after the run was cancelled is released at once", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let signal: AbortSignal | null = null;
    const slow = workflow("slow", async (ctx) => {
      await ctx.resource("a", {
        ...how("a"),
        acquire: async (info) => {
          signal = info.signal;
          await gate;
          return how("a").acquire();
        },
      });
    });
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.settle();
    await engine.cancel(run.id);
    expect((signal as AbortSignal | null)?.aborted).toBe(true);
    go();
    await cluster.world.settle();
    expect(trace).toEqual(["+a1", "-a1"]);
  });

  it("shutdown waits for the release of resources", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const busy = workflow("busy", async (ctx) => {
      const a = await ctx.resource("a", {
        ...how("a"),
        release: async (value) => {
          await gate;
          how("a").release(value);
        },
      });
      await ctx.step("use", () => new Promise(() => trace.push(`use ${a.value}`)));
    });
    const engine = await cluster.engine({ workflows: [busy] });
    await engine.start(busy, undefined);
    await cluster.world.settle();
    let isOver = false;
    const stopped = engine.shutdown({ drainMs: 0 }).then(() => {
      isOver = true;
    });
    await cluster.world.advance("1 s");
    expect(isOver).toBe(false);
    go();
    await cluster.world.settle();
    await stopped;
    expect(trace).toEqual(["+a1", "use a1", "-a1"]);
  });

  it("checkReplay acquires no resource, and an added resource is no finding", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    const plain = workflow("flow", async (ctx) => {
      await ctx.step("one", () => 1);
      await ctx.listen("go");
    });
    const withResource = workflow("flow", async (ctx) => {
      const a = await ctx.resource("a", how("a"));
      await ctx.step("one", () => a.value);
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [plain] });
    await engine.start(plain, undefined);
    await cluster.world.settle();
    const check = checkReplay({ store: cluster.connect(), workflows: [withResource], world: cluster.world });
    await cluster.world.settle();
    expect(await check).toMatchObject({ findings: [] });
    expect(trace).toEqual([]);
  });

  it("resources are held during compensation, and a failed acquire compensates the run", async () => {
    const cluster = await create(onTestFinished);
    const { trace, how } = depot();
    let broken = false;
    const saga = workflow("saga", async (ctx, ends: boolean) => {
      const a = await ctx.resource("a", how("a"));
      await ctx.resource("b", {
        acquire: () => {
          if (broken) throw new CriticalError("gone");
        },
      });
      await ctx.step("book", () => a.value, { rollback: (value) => void trace.push(`undo ${value} with ${a.value}`) });
      if (ends) throw new Error("no");
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [saga], hotRuns: 1 });
    await cluster.failure(await engine.start(saga, true));
    expect(trace.splice(0)).toEqual(["+a1", "undo a1 with a1", "-a1"]);
    const run = await engine.start(saga, false);
    await cluster.world.settle();
    broken = true;
    await run.send("go", null);
    await cluster.world.settle();
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "RESOURCE_UNAVAILABLE" } });
    expect(trace).toEqual(["+a2", "-a2", "+a3", "undo a2 with a3", "-a3"]);
  });

  it("ctx.resource rejects an invalid name", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) => ctx.resource("", { acquire: () => 1 }));
    const engine = await cluster.engine({ workflows: [odd] });
    const run = await engine.start(odd, undefined);
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "NAME_INVALID" } });
  });
});

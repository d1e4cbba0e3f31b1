import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type EngineEventKind, type Store, StoreError, workflow } from "../index.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const quick = workflow("quick", async (_, value: unknown) => value);
const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

/** A store that can be cut off: calls fail while `cut` is true. */
function cable(): { cut: boolean; through(store: Store): Store } {
  const state = {
    cut: false,
    through: (store: Store): Store =>
      intercepted(store, async (_, proceed) => {
        if (state.cut) throw new StoreError("STORE_UNAVAILABLE", "unknown", "the cable is cut");
        return await proceed();
      }),
  };
  return state;
}

/** When a run is woken, and when what it adds is written, beside a beat that is asked and answered later. */
const LAPSES = [
  { what: "a message has woken the run", wakesBy: "message", isWokenFirst: false, isWrittenLast: false },
  {
    what: "what a message had brought before is written",
    wakesBy: "message",
    isWokenFirst: true,
    isWrittenLast: false,
  },
  { what: "the next try of a step has begun", wakesBy: "time", isWokenFirst: false, isWrittenLast: true },
  { what: "a try has begun, before it was asked", wakesBy: "time", isWokenFirst: true, isWrittenLast: true },
] as const;

/**
 * A store that holds answers back: of commits with appends, of reads, and of a beat, which then tells of a lapse as one does that has passed over
 * a row that a commit had locked.
 */
function lateAnswers() {
  type Kind = "append" | "lapse" | "load";
  const holds = new Set<Kind>();
  const held: Array<readonly [Kind, () => void]> = [];
  const answer = (kind: Kind): Promise<void> => new Promise((resolve) => held.push([kind, resolve]));
  const through = (store: Store): Store => {
    const calls = intercepted(store, async ({ method, batch }, proceed) => {
      const answered = await proceed();
      if (holds.has("append") && batch.some(({ kind }) => kind === "append")) await answer("append");
      if (holds.has("load") && method === "load") await answer("load");
      return answered;
    });
    return {
      ...calls,
      heartbeat: async (...asked) => {
        const answered = await store.heartbeat(...asked);
        if (!holds.delete("lapse")) return answered;
        await answer("lapse");
        return { ...answered, alive: false, owned: [] };
      },
    };
  };
  const release = (kind: Kind): void => {
    holds.delete(kind);
    for (const [other, resolve] of held) if (other === kind) resolve();
  };
  return { holds, through, release };
}

function told(engine: Engine, ...kinds: readonly EngineEventKind[]): string[] {
  const events: string[] = [];
  for (const kind of kinds) engine.on(kind, (event) => events.push(event.kind));
  return events;
}

describe.each(TEST_STORES)("owning runs, on the store $name", ({ create }) => {
  it("ends with the worker's lease: another goes on within a lease and a poll", async () => {
    const cluster = await create(onTestFinished);
    const hangs = workflow("hangs", async (ctx) =>
      ctx.step("work", () => (cluster.crashed(first) ? "second try" : new Promise<string>(() => {}))),
    );
    const first: Engine = await cluster.engine({ workflows: [hangs], lease: "9 s" });
    const run = await first.start(hangs, undefined);
    await cluster.world.settle();
    cluster.crash(first);
    // So its beats fall half-way between the times at which those of the first would be missed.
    await cluster.world.advance("1500 ms");
    const second = await cluster.engine({ workflows: [hangs], lease: "9 s" });
    await cluster.world.advance("7 s");
    expect(await second.run(run.id).status()).toBe("running");
    await cluster.world.advance("1500 ms");
    expect(await cluster.result(second.run(run.id))).toBe("second try");
  });

  it("ends for each of many runs then, although a beat frees a bounded number", async () => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [waits], lease: "30 s", concurrency: 2_500 });
    await Promise.all(Array.from({ length: 2_500 }, () => first.start(waits, undefined)));
    await cluster.world.settle();
    cluster.crash(first);
    const second = await cluster.engine({ workflows: [waits], lease: "30 s" });
    await cluster.world.advance("31 s");
    const owners = (await second.list({ limit: 1_000, status: ["suspended"] })).items.map(({ owner }) => owner);
    expect(new Set(owners)).toEqual(new Set([null]));
    expect(await second.recover()).toMatchObject({ freed: 0 });
  });

  it("costs a worker at rest one call of the store a poll", async () => {
    const cluster = await create(onTestFinished);
    const calls: string[] = [];
    const through = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        calls.push(method);
        return await proceed();
      });
    const engine = await cluster.engine({ workflows: [waits], lease: "15 s", poll: "1 s", through });
    await engine.start(waits, undefined);
    await cluster.world.advance("10 s");
    calls.splice(0);
    await cluster.world.advance("30 s");
    expect(calls.filter((method) => method === "heartbeat")).toHaveLength(6);
    expect(calls).toHaveLength(30);
  });

  it("costs a store that does not answer one poll at a time, while beats go on", async () => {
    const cluster = await create(onTestFinished);
    const calls: string[] = [];
    let isSilent = false;
    const silent = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        calls.push(method);
        return isSilent && method === "nextDueAt" ? await new Promise<never>(() => {}) : await proceed();
      });
    await cluster.engine({ workflows: [waits], lease: "15 s", poll: "1 s", through: silent });
    await cluster.world.settle();
    calls.splice(0);
    isSilent = true;
    await cluster.world.advance("30 s");
    expect(calls.filter((method) => method === "nextDueAt")).toHaveLength(1);
    expect(calls.filter((method) => method === "heartbeat").length).toBeGreaterThan(5);
  });

  it("is not lost while beats come, however long a step takes", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) =>
      ctx.step("work", () => {
        calls += 1;
        return new Promise<string>((resolve) => bodies.push(resolve));
      }),
    );
    const engine = await cluster.engine({ workflows: [long] });
    await cluster.engine({ workflows: [long] });
    const run = await engine.start(long, undefined);
    await cluster.world.advance("2 minutes");
    bodies[0]!("done");
    expect(await cluster.result(run)).toBe("done");
    expect(calls).toBe(1);
  });

  it("is lost by a worker that was stopped beyond its lease: it says so, its body is told, and the run goes on", async () => {
    const cluster = await create(onTestFinished);
    const reasons: unknown[] = [];
    let calls = 0;
    const long = workflow("long", async (ctx) =>
      ctx.step("work", ({ signal }) => {
        calls += 1;
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        return calls === 1 ? new Promise<string>(() => {}) : "second";
      }),
    );
    const engine = await cluster.engine({ workflows: [long] });
    const events = told(engine, "worker.lapsed");
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    await cluster.world.leap(60_000);
    await cluster.world.advance("3 s");
    expect(events).toEqual(["worker.lapsed"]);
    expect(reasons).toMatchObject([{ code: "OWNERSHIP_LOST" }]);
    expect(cluster.log.some(({ level, text }) => level === "warn" && text.includes("lease"))).toBe(true);
    expect(await cluster.result(run)).toBe("second");
  });

  it("is lost from the moment in which the worker hears of it: no body of the run begins any more", async () => {
    const cluster = await create(onTestFinished);
    const lights: Array<() => void> = [];
    let lasts = 0;
    const chain = workflow("chain", async (ctx) => {
      await ctx.step("light", () => new Promise<void>((resolve) => lights.push(resolve)), { ephemeral: true });
      return await ctx.step("last", () => ++lasts);
    });
    let keep: Array<() => void> | null = null;
    const slow = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        if ((method === "load" || method === "claim") && keep !== null)
          await new Promise<void>((resolve) => keep?.push(resolve));
        return await proceed();
      });
    const engine = await cluster.engine({ workflows: [chain], through: slow });
    const events = told(engine, "worker.lapsed");
    const run = await engine.start(chain, undefined);
    await cluster.world.settle();
    const kept: Array<() => void> = [];
    keep = kept;
    await cluster.world.leap(60_000);
    await cluster.world.advance("3 s");
    expect(events).toEqual(["worker.lapsed"]);
    lights[0]!();
    await cluster.world.settle();
    expect(lasts).toBe(0);
    keep = null;
    for (const read of kept) read();
    await cluster.world.settle();
    lights[1]!();
    expect(await cluster.result(run)).toBe(1);
  });

  it.each(LAPSES)(
    "is not lost with a lapse that is told of after $what: no body of the run begins twice",
    async ({ wakesBy, isWokenFirst, isWrittenLast }) => {
      const cluster = await create(onTestFinished);
      const begun: number[] = [];
      const bodies: Array<(value: string) => void> = [];
      const body = ({ attempt }: { readonly attempt: number }): Promise<string> => {
        begun.push(attempt);
        if (wakesBy === "time" && attempt === 1) throw new Error("not yet");
        return new Promise((resolve) => bodies.push(resolve));
      };
      const woken = workflow("woken", async (ctx) => {
        if (wakesBy === "message") await ctx.listen("go");
        return await ctx.step("work", body, { retry: { maxAttempts: 2, initialMs: "1 minute", jitter: 0 } });
      });
      const late = lateAnswers();
      const engine = await cluster.engine({ workflows: [woken], lease: "10 minutes", through: late.through });
      const events = told(engine, "worker.lapsed");
      const run = await engine.start(woken, undefined);
      await cluster.world.settle();
      const wake = async (): Promise<void> => {
        late.holds.add("append");
        if (wakesBy === "message") await run.send("go", null);
        await cluster.world.advance("61 s");
        if (!isWrittenLast && !isWokenFirst) late.release("append");
        await cluster.world.settle();
      };
      if (isWokenFirst) await wake();
      await cluster.world.advance("1 s");
      late.holds.add("lapse");
      const beat = engine.recover();
      await cluster.world.settle();
      if (!isWokenFirst) await wake();
      if (!isWrittenLast) late.release("append");
      await cluster.world.settle();
      const before = [...begun];
      expect(before).toEqual(wakesBy === "message" ? [1] : [1, 2]);
      late.release("lapse");
      await cluster.world.settle();
      late.release("append");
      await beat;
      await cluster.world.settle();
      bodies[0]!("done");
      expect(await cluster.result(run)).toBe("done");
      expect([events, begun]).toEqual([["worker.lapsed"], before]);
    },
  );

  it("is in doubt after a lapse until the run is read: a body that waits for the journal begins then, and once", async () => {
    const cluster = await create(onTestFinished);
    let begun = 0;
    const chain = workflow("chain", async (ctx) => {
      await ctx.step("first", () => 1);
      return await ctx.step("last", () => ++begun);
    });
    const late = lateAnswers();
    const engine = await cluster.engine({ workflows: [chain], lease: "10 minutes", through: late.through });
    await cluster.world.settle();
    for (const kind of ["append", "load", "lapse"] as const) late.holds.add(kind);
    const run = await engine.start(chain, undefined);
    const beat = engine.recover();
    await cluster.world.settle();
    late.release("lapse");
    await beat;
    late.release("append");
    await cluster.world.settle();
    expect(begun).toBe(0);
    late.release("load");
    expect(await cluster.result(run)).toBe(1);
  });

  it("is not taken up by a read from before a lapse: no body begins under an epoch that the worker knows to be over", async () => {
    const cluster = await create(onTestFinished);
    let begun = 0;
    const one = workflow("one", async (ctx) => await ctx.step("only", () => ++begun));
    const late = lateAnswers();
    const engine = await cluster.engine({ workflows: [one], through: late.through });
    const events = told(engine, "run.claimed", "worker.lapsed", "run.lost");
    await cluster.world.settle();
    late.holds.add("load");
    const client = await cluster.engine();
    const run = await client.start(one, undefined);
    await cluster.world.advance("3 s");
    expect(events).toEqual(["run.claimed"]);
    await cluster.world.leap(60_000);
    await cluster.world.advance("3 s");
    late.release("load");
    expect(await cluster.result(run)).toBe(1);
    expect([events, begun]).toEqual([["run.claimed", "worker.lapsed", "run.claimed"], 1]);
  });

  it("ends without a word with the engine, though the store is closed while it is looked for more", async () => {
    const cluster = await create(onTestFinished);
    let asked = 0;
    let fail: ((error: Error) => void) | null = null;
    const lasting = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        if (method === "dueRuns" && fail === null)
          return await new Promise<never>((_, reject) => {
            fail = reject;
          });
        if (method === "ownedRunning") asked += 1;
        return await proceed();
      });
    const engine = await cluster.engine({ workflows: [quick], through: lasting });
    await cluster.world.advance("2 s");
    const over = engine.shutdown();
    await cluster.world.advance("10 s");
    await over;
    fail!(new StoreError("STORE_UNAVAILABLE", "unknown", "the store is closed"));
    await cluster.world.settle();
    expect([cluster.log.filter(({ level }) => level !== "info"), asked]).toEqual([[], 0]);
  });

  it("by a worker that is cut off is fenced: what it brings when it is back is dropped, and it says so", async () => {
    const cluster = await create(onTestFinished);
    const line = cable();
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) =>
      ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve))),
    );
    const zombie = await cluster.engine({ workflows: [long], through: line.through });
    const events = told(zombie, "run.lost", "worker.lapsed", "run.completed");
    const run = await zombie.start(long, undefined);
    await cluster.world.settle();
    const heir = await cluster.engine({ workflows: [long] });
    line.cut = true;
    await cluster.world.advance("10 s");
    expect(bodies).toHaveLength(2);
    bodies[0]!("from the zombie");
    await cluster.world.settle();
    line.cut = false;
    await cluster.world.advance("5 s");
    expect(await heir.run(run.id).journal()).toEqual([]);
    bodies[1]!("from the heir");
    expect(await cluster.result(heir.run(run.id))).toBe("from the heir");
    expect(events.some((kind) => kind === "run.lost" || kind === "worker.lapsed")).toBe(true);
    expect(events).not.toContain("run.completed");
  });

  it("of a run that ends its workers is given up: it fails with code POISONED, and others are not harmed", async () => {
    const cluster = await create(onTestFinished);
    let deaths = 0;
    let current: Engine;
    const poison = workflow("poison", async (ctx) =>
      ctx.step("kill", () => {
        deaths += 1;
        cluster.crash(current);
        return new Promise(() => {});
      }),
    );
    const client = await cluster.engine();
    const early = await cluster.engine({ workflows: [waits] });
    const good = await early.start(waits, undefined);
    await cluster.world.settle();
    await early.shutdown();
    const bad = await client.start(poison, undefined);
    for (let n = 0; n < 10 && (await bad.status()) !== "failed"; n += 1) {
      current = await cluster.engine({ workflows: [poison, waits], claimsMax: 3 });
      await cluster.world.advance("8 s");
    }
    const error = await cluster.failure(bad);
    expect(error.cause).toMatchObject({ code: "POISONED" });
    expect(deaths).toBe(3);
    await cluster.engine({ workflows: [waits] });
    await client.send(good.id, "go", "fine");
    await cluster.world.advance("3 s");
    expect(await cluster.result(client.run(good.id))).toBe("fine");
  });

  it("of a run that ends its workers does not count against the runs that were claimed with it", async () => {
    const cluster = await create(onTestFinished);
    let current: Engine;
    const poison = workflow("poison", async (ctx) =>
      ctx.step("kill", () => {
        cluster.crash(current);
        return new Promise(() => {});
      }),
    );
    const client = await cluster.engine();
    const bad = await client.start(poison, undefined);
    const good = await Promise.all(Array.from({ length: 5 }, () => client.start(waits, undefined)));
    for (let n = 0; n < 20 && (await bad.status()) !== "failed"; n += 1) {
      current = await cluster.engine({ workflows: [poison, waits], claimsMax: 3 });
      await cluster.world.advance("8 s");
    }
    expect((await cluster.failure(bad)).cause).toMatchObject({ code: "POISONED" });
    await cluster.engine({ workflows: [waits] });
    for (const run of good) await client.send(run.id, "go", "fine");
    await cluster.world.advance("10 s");
    for (const run of good) expect(await cluster.result(client.run(run.id))).toBe("fine");
  });

  it("counts claims from the last progress on: a run that gets further each time is not poisoned", async () => {
    const cluster = await create(onTestFinished);
    let current: Engine;
    const slowly = workflow("slowly", async (ctx) => {
      for (let n = 0; n < 8; n += 1) {
        await ctx.step("before", () => n);
        await ctx.step("die once", () => {
          if (died.has(n)) return n;
          died.add(n);
          cluster.crash(current);
          return new Promise<number>(() => {});
        });
      }
      return "through";
    });
    const died = new Set<number>();
    const client = await cluster.engine();
    const run = await client.start(slowly, undefined);
    for (let n = 0; n < 12 && (await run.status()) !== "completed"; n += 1) {
      current = await cluster.engine({ workflows: [slowly], claimsMax: 2 });
      await cluster.world.advance("8 s");
    }
    expect(await cluster.result(run)).toBe("through");
  });

  it("of a run whose workflow no worker has is left alone", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(quick, 1);
    await cluster.engine({ workflows: [waits] });
    await cluster.world.advance("10 s");
    expect(await run.status()).toBe("pending");
    expect(await client.get(run.id)).toMatchObject({ claims: 0, owner: null });
  });

  it("is spread over workers by their concurrency", async () => {
    const cluster = await create(onTestFinished);
    let working = 0;
    let most = 0;
    const bodies: Array<() => void> = [];
    const work = workflow("work", async (ctx) =>
      ctx.step("work", async () => {
        working += 1;
        most = Math.max(most, working);
        await new Promise<void>((resolve) => bodies.push(resolve));
        working -= 1;
      }),
    );
    const client = await cluster.engine();
    const runs = await Promise.all(Array.from({ length: 10 }, () => client.start(work, undefined)));
    await cluster.engine({ workflows: [work], concurrency: 2 });
    await cluster.engine({ workflows: [work], concurrency: 1 });
    await cluster.world.advance("2 s");
    expect(working).toBe(3);
    while (bodies.length > 0) {
      bodies.shift()!();
      await cluster.world.settle();
    }
    await cluster.world.advance("2 s");
    for (const run of runs) expect(await run.status()).toBe("completed");
    expect(most).toBe(3);
  });
});

describe.each(TEST_STORES)("shutting down, on the store $name", ({ create }) => {
  it("lets work end, commits it, and gives the rest back for others to take at once", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const two = workflow("two", async (ctx) => [
      await ctx.step("a", () => new Promise<string>((resolve) => bodies.push(resolve))),
      await ctx.step("b", () => "b"),
    ]);
    const first = await cluster.engine({ workflows: [two] });
    const run = await first.start(two, undefined);
    await cluster.world.settle();
    let stopped = false;
    const stopping = first.shutdown({ drainMs: 10_000 }).then(() => {
      stopped = true;
    });
    await cluster.world.advance("1 s");
    expect(stopped).toBe(false);
    bodies[0]!("a");
    await cluster.world.advance("1 s");
    await stopping;
    const second = await cluster.engine({ workflows: [two] });
    expect(await cluster.result(second.run(run.id))).toEqual(["a", "b"]);
    expect(bodies).toHaveLength(1);
  });

  it("waits no longer than it was told, and aborts what is under way", async () => {
    const cluster = await create(onTestFinished);
    const reasons: unknown[] = [];
    let calls = 0;
    const hangs = workflow("hangs", async (ctx) =>
      ctx.step("work", ({ signal }) => {
        calls += 1;
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        return calls === 1 ? new Promise<string>(() => {}) : "second";
      }),
    );
    const first = await cluster.engine({ workflows: [hangs] });
    const events = told(first, "run.released");
    const run = await first.start(hangs, undefined);
    await cluster.world.settle();
    const stopping = first.shutdown({ drainMs: 5_000 });
    await cluster.world.advance("5 s");
    await stopping;
    expect(reasons).toHaveLength(1);
    expect(events).toEqual(["run.released"]);
    const second = await cluster.engine({ workflows: [hangs] });
    expect(await cluster.result(second.run(run.id))).toBe("second");
  });

  it("takes no new work, and says so to those who ask", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    const result = run.result().catch((error: { code: string }) => error.code);
    await engine.shutdown();
    await engine.shutdown();
    expect(await result).toBe("ENGINE_STOPPED");
    await expect(engine.start(waits, undefined)).rejects.toMatchObject({ code: "ENGINE_STOPPED" });
    await expect(engine.send(run.id, "go", 1)).rejects.toMatchObject({ code: "ENGINE_STOPPED" });
    await expect(engine.submitBatch([])).rejects.toMatchObject({ code: "ENGINE_STOPPED" });
    const next = await cluster.engine({ workflows: [waits] });
    await next.send(run.id, "go", 1);
    await cluster.world.advance("2 s");
    expect(await cluster.result(next.run(run.id))).toBe(1);
  });
});

describe.each(TEST_STORES)("recover, on the store $name", ({ create }) => {
  it("does now what happens by itself, and counts", async () => {
    const cluster = await create(onTestFinished);
    const hangs = workflow("hangs", async (ctx) => ctx.step("work", () => new Promise(() => {})));
    // It begins before the other, so nothing tells it when the other's lease is over.
    const heir = await cluster.engine({ workflows: [hangs, waits], poll: "1 hour", lease: "1 hour" });
    const dead = await cluster.engine({ workflows: [hangs, waits] });
    for (let n = 0; n < 3; n += 1) await dead.start(hangs, undefined);
    const waiting = await dead.start(waits, undefined);
    const paused = await dead.start(waits, undefined);
    await cluster.world.settle();
    await paused.pause();
    cluster.crash(dead);
    await heir.start(quick, 1);
    await cluster.world.advance("4 s");
    const report = await heir.recover();
    expect(report).toMatchObject({ freed: 4, claimed: 3, open: { pending: 1, running: 3, suspended: 1, paused: 1 } });
    expect(await heir.run(waiting.id).status()).toBe("suspended");
  });
});

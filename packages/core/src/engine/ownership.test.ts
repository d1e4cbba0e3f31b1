import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type EngineEventKind, type Store, StoreError, workflow } from "../index.ts";
import { heartbeatGate } from "../testing/heartbeat-gate.ts";
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

/**
 * Cases of a heartbeat whose late reply reports an expired lease: whether the run is woken before the heartbeat is sent, and whether
 * its append is acknowledged after the reply.
 */
const LAPSES = [
  { what: "a message woke the run", wakesBy: "message", isWokenFirst: false, isWrittenLast: false },
  {
    what: "the commit of a received message",
    wakesBy: "message",
    isWokenFirst: true,
    isWrittenLast: false,
  },
  { what: "the next attempt of a step started", wakesBy: "time", isWokenFirst: false, isWrittenLast: true },
  { what: "an attempt that started before the heartbeat", wakesBy: "time", isWokenFirst: true, isWrittenLast: true },
] as const;

/**
 * A store with late replies to appends, loads and one heartbeat. That heartbeat reports an expired lease although no run was
 * freed, like a store that skips a row because a commit has locked it.
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
      heartbeat: async (...args) => {
        const answered = await store.heartbeat(...args);
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

/** What happens to a run that was freed before its session opened: if its worker is full, and if it has room to claim the run. */
const FREED_EARLY = [
  { what: "taken back by the next heartbeat of its full worker", concurrency: 1, after: "4 minutes", epoch: 1 },
  { what: "executed at once if its worker claims it", concurrency: 2, after: "1 s", epoch: 2 },
] as const;

/** A store whose loads, heartbeats, and replies to heartbeats and creates are held until they are released. */
function heldCalls() {
  type Kind = "load" | "heartbeat" | "heartbeat answer" | "create answer";
  const holds = new Set<Kind>();
  const held: Array<readonly [Kind, () => void]> = [];
  const passed = async (kind: Kind): Promise<void> => {
    if (holds.has(kind)) await new Promise<void>((resolve) => held.push([kind, resolve]));
  };
  const through = (store: Store): Store =>
    intercepted(store, async ({ method, batch }, proceed) => {
      if (method === "load" || method === "heartbeat") await passed(method);
      const answered = await proceed();
      if (method === "heartbeat") await passed("heartbeat answer");
      if (batch.some(({ kind }) => kind === "create")) await passed("create answer");
      return answered;
    });
  const release = (kind: Kind): void => {
    holds.delete(kind);
    for (const [other, resolve] of held) if (other === kind) resolve();
  };
  return { holds, through, release };
}

function eventKinds(engine: Engine, ...kinds: readonly EngineEventKind[]): string[] {
  const events: string[] = [];
  for (const kind of kinds) engine.on(kind, (event) => events.push(event.kind));
  return events;
}

describe.each(TEST_STORES)("ownership, on the store $name", ({ create }) => {
  it("another worker takes over within one lease and one poll", async () => {
    const cluster = await create(onTestFinished);
    const hangs = workflow("hangs", async (ctx) =>
      ctx.step("work", () => (cluster.crashed(first) ? "second try" : new Promise<string>(() => {}))),
    );
    const first: Engine = await cluster.engine({ workflows: [hangs], lease: "9 s" });
    const run = await first.start(hangs, undefined);
    await cluster.world.settle();
    cluster.crash(first);
    // Places the second worker's heartbeats half-way between the times at which the first worker's would be due.
    await cluster.world.advance("1500 ms");
    const second = await cluster.engine({ workflows: [hangs], lease: "9 s" });
    await cluster.world.advance("7 s");
    expect(await second.run(run.id).status()).toBe("running");
    await cluster.world.advance("1500 ms");
    expect(await cluster.result(second.run(run.id))).toBe("second try");
  });

  it("all 2,500 runs of an expired worker are freed, although one heartbeat frees a bounded number", async () => {
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

  it("an idle worker makes one store call per poll", async () => {
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

  it("a poll without a reply is not repeated, and heartbeats continue meanwhile", async () => {
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

  it("a long step does not cost its worker the run while heartbeats arrive", async () => {
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

  it("a worker silent for longer than its lease emits worker.lapsed, and aborts its steps if another worker has the run", async () => {
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
    const gate = heartbeatGate();
    const engine = await cluster.engine({ workflows: [long], through: gate.through });
    const events = eventKinds(engine, "worker.lapsed");
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    gate.close();
    await cluster.engine({ workflows: [long] });
    await cluster.world.advance("10 s");
    gate.open();
    await cluster.world.advance("1 s");
    expect(events).toContain("worker.lapsed");
    expect(reasons).toMatchObject([{ code: "OWNERSHIP_LOST" }]);
    expect(cluster.log.some(({ level, text }) => level === "warn" && text.includes("lease"))).toBe(true);
    expect(await cluster.result(run)).toBe("second");
  });

  it("a worker that learns that its lease expired starts no step of a run before it has loaded the run again", async () => {
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
    const events = eventKinds(engine, "worker.lapsed");
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
    expect(await cluster.result(run)).toBe(1);
    expect(lights).toHaveLength(1);
  });

  it.each(LAPSES)(
    "no step starts twice if an expired lease is reported after $what",
    async ({ wakesBy, isWokenFirst, isWrittenLast }) => {
      const cluster = await create(onTestFinished);
      const started: number[] = [];
      const bodies: Array<(value: string) => void> = [];
      const body = ({ attempt }: { readonly attempt: number }): Promise<string> => {
        started.push(attempt);
        if (wakesBy === "time" && attempt === 1) throw new Error("not yet");
        return new Promise((resolve) => bodies.push(resolve));
      };
      const woken = workflow("woken", async (ctx) => {
        if (wakesBy === "message") await ctx.listen("go");
        return await ctx.step("work", body, { retry: { maxAttempts: 2, initialMs: "1 minute", jitter: 0 } });
      });
      const late = lateAnswers();
      const engine = await cluster.engine({
        workflows: [woken],
        lease: "10 minutes",
        storageTimeout: "10 minutes",
        through: late.through,
      });
      const events = eventKinds(engine, "worker.lapsed");
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
      const heartbeat = engine.recover();
      await cluster.world.settle();
      if (!isWokenFirst) await wake();
      if (!isWrittenLast) late.release("append");
      await cluster.world.settle();
      const before = [...started];
      expect(before).toEqual(wakesBy === "message" ? [1] : [1, 2]);
      late.release("lapse");
      await cluster.world.settle();
      late.release("append");
      await heartbeat;
      await cluster.world.settle();
      bodies[0]!("done");
      expect(await cluster.result(run)).toBe("done");
      expect([events, started]).toEqual([["worker.lapsed"], before]);
    },
  );

  it("after a lost lease, a pending step starts once, and only after the run was reloaded", async () => {
    const cluster = await create(onTestFinished);
    let started = 0;
    const chain = workflow("chain", async (ctx) => {
      await ctx.step("first", () => 1);
      return await ctx.step("last", () => ++started);
    });
    const late = lateAnswers();
    const engine = await cluster.engine({
      workflows: [chain],
      lease: "10 minutes",
      storageTimeout: "10 minutes",
      through: late.through,
    });
    await cluster.world.settle();
    for (const kind of ["append", "load", "lapse"] as const) late.holds.add(kind);
    const run = await engine.start(chain, undefined);
    const heartbeat = engine.recover();
    await cluster.world.settle();
    late.release("lapse");
    await heartbeat;
    late.release("append");
    await cluster.world.settle();
    expect(started).toBe(0);
    late.release("load");
    expect(await cluster.result(run)).toBe(1);
  });

  it("a run loaded before the lease expired is loaded again before any step starts", async () => {
    const cluster = await create(onTestFinished);
    let started = 0;
    const one = workflow("one", async (ctx) => await ctx.step("only", () => ++started));
    const late = lateAnswers();
    const engine = await cluster.engine({ workflows: [one], through: late.through });
    const events = eventKinds(engine, "run.claimed", "worker.lapsed", "run.lost");
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
    expect([events, started]).toEqual([["run.claimed", "worker.lapsed"], 1]);
  });

  it("a step runs once if its freed run is loaded while the heartbeat that takes it back is under way", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) => {
      const work = ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve)));
      await ctx.listen("go");
      return await work;
    });
    const calls = heldCalls();
    const engine = await cluster.engine({ workflows: [long], through: calls.through });
    const events = eventKinds(engine, "worker.lapsed", "run.lost");
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    calls.holds.add("load").add("heartbeat");
    await run.send("go", null);
    await cluster.world.advance("1 minute");
    const other = await cluster.engine({ workflows: [waits] });
    expect((await other.list()).items).toMatchObject([{ status: "running", owner: null }]);
    calls.release("load");
    await cluster.world.settle();
    calls.release("heartbeat");
    await cluster.world.settle();
    bodies[0]!("done");
    expect(await cluster.result(run)).toBe("done");
    expect([events, bodies.length]).toEqual([["worker.lapsed"], 1]);
  });

  it.each(FREED_EARLY)(
    "a run that was freed before its session opened is $what",
    async ({ concurrency, after, epoch }) => {
      const cluster = await create(onTestFinished);
      const bodies: Array<(value: string) => void> = [];
      const long = workflow("long", async (ctx) =>
        ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve))),
      );
      const calls = heldCalls();
      const engine = await cluster.engine({
        workflows: [long],
        lease: "10 minutes",
        concurrency,
        storageTimeout: "1 hour",
        through: calls.through,
      });
      await cluster.world.settle();
      calls.holds.add("create answer").add("heartbeat").add("heartbeat answer");
      const starting = engine.start(long, undefined);
      await cluster.world.leap(660_000);
      await cluster.world.settle();
      const other = await cluster.engine({ workflows: [waits] });
      expect((await other.list()).items).toMatchObject([{ status: "running", owner: null }]);
      calls.release("heartbeat");
      await cluster.world.settle();
      calls.release("create answer");
      await cluster.world.settle();
      expect(bodies).toHaveLength(1);
      calls.release("heartbeat answer");
      await cluster.world.advance(after);
      expect((await other.list()).items).toMatchObject([{ owner: expect.any(String), epoch }]);
      expect(bodies).toHaveLength(epoch);
      bodies.at(-1)!("done");
      expect(await cluster.result(await starting)).toBe("done");
    },
  );

  it("a claim round that fails during shutdown logs nothing", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    let fail: ((error: Error) => void) | null = null;
    const lasting = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        if (method === "dueRuns" && fail === null)
          return await new Promise<never>((_, reject) => {
            fail = reject;
          });
        if (method === "ownedRunning") calls += 1;
        return await proceed();
      });
    const engine = await cluster.engine({ workflows: [quick], through: lasting });
    await cluster.world.advance("2 s");
    const over = engine.shutdown();
    await cluster.world.advance("10 s");
    await over;
    fail!(new StoreError("STORE_UNAVAILABLE", "unknown", "the store is closed"));
    await cluster.world.settle();
    expect([cluster.log.filter(({ level }) => level !== "info"), calls]).toEqual([[], 0]);
  });

  it("a worker cut off from the store is fenced: its late result is discarded, and it emits run.lost or worker.lapsed", async () => {
    const cluster = await create(onTestFinished);
    const line = cable();
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) =>
      ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve))),
    );
    const zombie = await cluster.engine({ workflows: [long], through: line.through });
    const events = eventKinds(zombie, "run.lost", "worker.lapsed", "run.completed");
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

  it("a run that crashes its workers claimsMax times fails with POISONED, and other runs continue", async () => {
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
      current = await cluster.engine({ workflows: [poison, waits], claimsMax: 4 });
      await cluster.world.advance("8 s");
    }
    const error = await cluster.failure(bad);
    expect(error.cause).toMatchObject({ code: "POISONED" });
    expect(deaths).toBe(4);
    await cluster.engine({ workflows: [waits] });
    await client.send(good.id, "go", "fine");
    await cluster.world.advance("3 s");
    expect(await cluster.result(client.run(good.id))).toBe("fine");
  });

  it("runs claimed together with a poisoned run do not fail", async () => {
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
      current = await cluster.engine({ workflows: [poison, waits], claimsMax: 4 });
      await cluster.world.advance("8 s");
    }
    expect((await cluster.failure(bad)).cause).toMatchObject({ code: "POISONED" });
    await cluster.engine({ workflows: [waits] });
    for (const run of good) await client.send(run.id, "go", "fine");
    await cluster.world.advance("10 s");
    for (const run of good) expect(await cluster.result(client.run(run.id))).toBe("fine");
  });

  it("a run that makes progress before each crash is not poisoned", async () => {
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
      current = await cluster.engine({ workflows: [slowly], claimsMax: 4 });
      await cluster.world.advance("8 s");
    }
    expect(await cluster.result(run)).toBe("through");
  });

  it("a run stays pending while no worker has its workflow", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(quick, 1);
    await cluster.engine({ workflows: [waits] });
    await cluster.world.advance("10 s");
    expect(await run.status()).toBe("pending");
    expect(await client.get(run.id)).toMatchObject({ claims: 0, owner: null });
  });

  it("each worker executes at most `concurrency` runs", async () => {
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
  it("shutdown waits for running steps, commits their results, and releases the runs", async () => {
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

  it("shutdown aborts steps that still run after drainMs, and releases their runs", async () => {
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
    const events = eventKinds(first, "run.released");
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

  it("every call rejects with ENGINE_STOPPED after shutdown", async () => {
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
  it("recover frees and claims the runs of an expired worker at once, and returns the counts", async () => {
    const cluster = await create(onTestFinished);
    const hangs = workflow("hangs", async (ctx) => ctx.step("work", () => new Promise(() => {})));
    // It starts before the other worker, so it does not know when that worker's lease expires.
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

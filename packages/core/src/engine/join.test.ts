import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, JoinError, type PawlError, RaceError, workflow } from "../index.ts";
import { crashEverywhere } from "../testing/crash-everywhere.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const LEFT = "left";

describe.each(TEST_STORES)("join, on the store $name", ({ create }) => {
  it("a join returns each branch's result, and a branch wakes while its sibling executes a step", async () => {
    const cluster = await create(onTestFinished);
    const order: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const both = workflow("both", async (ctx) => {
      const { slow, fast } = await ctx.join("both", {
        slow: (c) => c.step("work", () => released.then(() => order.push("slow"))),
        fast: async (c) => {
          await c.sleep("1 s");
          return await c.step("work", () => order.push("fast"));
        },
      });
      return [slow, fast];
    });
    const engine = await cluster.engine({ workflows: [both] });
    const run = await engine.start(both, undefined);
    await cluster.world.advance("2 s");
    expect(order).toEqual(["fast"]);
    release();
    expect(await cluster.finish(run)).toEqual([2, 1]);
    expect((await run.journal()).map(({ location }) => location)).toEqual([
      "both",
      "both/fast/sleep",
      "both/fast/work",
      "both/slow/work",
    ]);
  });

  it("a join waits for every branch, and rejects with the error of each failed branch", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const failing = workflow("failing", async (ctx) => {
      try {
        await ctx.join("all", {
          a: (c) => c.step("s", () => Promise.reject(new Error("a broke")), { retry: false }),
          b: async (c) => {
            await c.sleep("1 s");
            ran.push(await c.step("s", () => "b"));
          },
          c: (c) => c.step("s", () => Promise.reject(new Error("c broke")), { retry: false }),
        });
        return "no error";
      } catch (error) {
        if (!(error instanceof JoinError)) throw error;
        return Object.entries(error.errors).map(([name, { message }]) => `${name}: ${message}`);
      }
    });
    const engine = await cluster.engine({ workflows: [failing] });
    const run = await engine.start(failing, undefined);
    expect(await cluster.finish(run)).toEqual(["a: a broke", "c: c broke"]);
    expect(ran).toEqual(["b"]);
  });

  it("a join and a race accept branches as objects with a function run, and as a list", async () => {
    const cluster = await create(onTestFinished);
    const run = (value: string) => async (c: Ctx) => await c.step("s", () => value);
    const forms = workflow("forms", async (ctx) => {
      const joined = await ctx.join("joined", { a: { run: run("a") }, b: run("b") });
      const listed = await ctx.join("listed", [
        { name: "c", run: run("c") },
        { name: "d", run: run("d") },
      ]);
      const raced = await ctx.race("raced", [
        { name: "work", run: run("e") },
        { name: "timeout", run: (c) => c.sleep("5 s") },
      ]);
      const named = await ctx.race("named", { only: { run: run("f") } });
      return { joined, listed, raced, named };
    });
    const engine = await cluster.engine({ workflows: [forms] });
    const started = await engine.start(forms, undefined);
    expect(await cluster.result(started)).toEqual({
      joined: { a: "a", b: "b" },
      listed: { c: "c", d: "d" },
      raced: { winner: "work", value: "e" },
      named: { winner: "only", value: "f" },
    });
    expect((await started.journal()).map(({ location }) => location)).toEqual(
      expect.arrayContaining(["joined/a/s", "joined/b/s", "listed/c/s", "listed/d/s", "raced/work/s", "named/only/s"]),
    );
  });

  it("a branch may be named __proto__ like any other", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) => {
      const joined = await ctx.join("j", [{ name: "__proto__", run: (c) => c.step("s", () => 1) }]);
      const fails = {
        name: "__proto__",
        run: (c: Ctx) => c.step("s", () => Promise.reject(new Error("no")), { retry: false }),
      };
      const raced: unknown = await ctx.race("r", [fails]).catch((error: unknown) => error);
      return [Object.keys(joined), Object.keys((raced as RaceError).errors)];
    });
    const engine = await cluster.engine({ workflows: [odd] });
    expect(await cluster.result(await engine.start(odd))).toEqual([["__proto__"], ["__proto__"]]);
  });

  it("a join without branches returns an empty result, also in a replay", async () => {
    const cluster = await create(onTestFinished);
    const none = workflow("none", async (ctx) => {
      const results = [await ctx.join("object", {}), await ctx.join("list", [])];
      await ctx.sleep("1 s");
      return results;
    });
    const first = await cluster.engine({ workflows: [none] });
    const run = await first.start(none, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [none] });
    expect(await cluster.finish(second.run(run.id))).toEqual([{}, {}]);
  });

  it("branches that cannot be run are rejected with OPTION_INVALID, which names the branch", async () => {
    const cluster = await create(onTestFinished);
    const code = (form: "join" | "race", branches: unknown) =>
      workflow("wrong", async (ctx) => {
        const given = branches as Record<string, never>;
        const call = form === "join" ? ctx.join("both", given) : ctx.race("both", given);
        const error: unknown = await call.catch((thrown: unknown) => thrown);
        return `${(error as PawlError).code} ${(error as PawlError).message}`;
      });
    const body = (): number => 1;
    const wrong = async (form: "join" | "race", branches: unknown): Promise<unknown> => {
      const made = code(form, branches);
      const engine = await cluster.engine({ workflows: [made] });
      const text = await cluster.result(await engine.start(made, undefined));
      await engine.shutdown();
      return text;
    };
    expect(await wrong("race", {})).toBe("OPTION_INVALID race both has no branches; pass at least one");
    expect(await wrong("race", [])).toContain("has no branches");
    expect(await wrong("join", { a: 1 })).toContain('branches of join both."a" must be a function or an object; got 1');
    expect(await wrong("join", { a: { runs: body } })).toContain('unknown option "runs" of a branch; use run');
    expect(await wrong("join", [body])).toContain("branches of join both[0] must be an object");
    expect(await wrong("join", [{ run: body }])).toContain("branches of join both[0].name");
    const twice = [1, 2].map(() => ({ name: "a", run: body }));
    expect(await wrong("race", twice)).toContain("race both has two branches named a; rename one");
  });

  it("nested joins and races keep their branches' retries and survive a crash at each commit", async () => {
    const make = () => {
      const ran: string[] = [];
      let attempts = 0;
      const nested = workflow("nested", async (ctx) => {
        return await ctx.join("outer", {
          one: async (c) => {
            const inner = await c.join("inner", {
              x: (d) => d.step("s", () => ran.push("x") && "x"),
              y: async (d) => {
                await d.sleep("1 s");
                return await d.step("s", () => ran.push("y") && "y");
              },
            });
            return `${inner.x}${inner.y}`;
          },
          two: (c) =>
            c.race("inner", {
              never: (d) => d.listen("never"),
              soon: (d) => d.step("s", () => ran.push("soon") && null),
            }),
          three: (c) =>
            c.step("s", () => {
              attempts += 1;
              if (attempts === 1) throw new Error("once");
              return "three";
            }),
        });
      });
      return { workflow: nested, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output }) => {
        expect(output).toEqual({ one: "xy", two: { winner: "soon", value: null }, three: "three" });
      },
    );
    expect(crashes).toBeGreaterThan(8);
  });

  it("a branch added to a join is a divergence that names both sets of branches", async () => {
    const cluster = await create(onTestFinished);
    const code = (branches: readonly string[]) =>
      workflow("changing", async (ctx) => {
        await ctx.join("all", Object.fromEntries(branches.map((name) => [name, (c: typeof ctx) => c.listen("go")])));
      });
    const before = code(["a", "b"]);
    const engine = await cluster.engine({ workflows: [before] });
    const run = await engine.start(before, undefined, { id: "r" });
    await cluster.world.advance("1 s");
    await run.send("go", 1);
    await cluster.world.advance("1 s");
    const successor = await cluster.takeOver(engine, { workflows: [code(["a", "b", "c"])] });
    await successor.run("r").send("go", 2);
    await cluster.world.advance("1 s");
    expect(await successor.run("r").status()).toBe("paused");
    expect(JSON.stringify(cluster.log)).toMatch(
      /at all: the journal has join of a, b .* the code requested join of a, b, c at all/,
    );
  });
});

describe.each(TEST_STORES)("race, on the store $name", ({ create, staysHot }) => {
  it("a race resolves with the first success; the other branches are aborted and start no step", async () => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    let finishLoser: () => void = () => undefined;
    const racing = workflow("racing", async (ctx) => {
      const { winner, value } = await ctx.race("first", {
        work: async (c) => {
          c.signal.addEventListener("abort", () => seen.push("ctx aborted"));
          await c.step("slow", ({ signal }) => {
            signal.addEventListener("abort", () => seen.push("body aborted"));
            return new Promise<void>((resolve) => {
              finishLoser = resolve;
            });
          });
          return await c.step("after", () => seen.push("after"));
        },
        timeout: (c) => c.sleep("1 s"),
      });
      await ctx.sleep("1 min");
      return { winner, value };
    });
    const engine = await cluster.engine({ workflows: [racing] });
    const run = await engine.start(racing, undefined, { id: "r" });
    await cluster.world.advance("2 s");
    expect(seen).toEqual(["ctx aborted", "body aborted"]);
    finishLoser();
    const successor = await cluster.takeOver(engine, { workflows: [racing] });
    const again = successor.run("r");
    expect(await cluster.finish(again)).toEqual({ winner: "timeout", value: undefined });
    // Replay aborts the branch's signal again, but executes no step body of it.
    expect(seen).toEqual(["ctx aborted", "body aborted", "ctx aborted"]);
    expect((await again.journal()).map(({ location }) => location)).toEqual(["first", "first/timeout/sleep", "sleep"]);
    expect(run.id).toBe("r");
  });

  it("a race rejects with every branch's error only when all branches have failed", async () => {
    const cluster = await create(onTestFinished);
    const failing = workflow("failing", async (ctx) => {
      const result = await ctx.race("one", {
        bad: (c) => c.step("s", () => Promise.reject(new Error("bad")), { retry: false }),
        late: async (c) => {
          await c.sleep("1 s");
          return null;
        },
      });
      try {
        await ctx.race("none", {
          a: (c) => c.step("s", () => Promise.reject(new Error("a broke")), { retry: false }),
          b: (c) => c.step("s", () => Promise.reject(new Error("b broke")), { retry: false }),
        });
      } catch (error) {
        if (error instanceof RaceError) return [result, error.message];
      }
      return LEFT;
    });
    const engine = await cluster.engine({ workflows: [failing] });
    const run = await engine.start(failing, undefined);
    expect(await cluster.finish(run)).toEqual([
      { winner: "late", value: null },
      "race none failed in every branch: a: a broke; b: b broke",
    ]);
  });

  it.runIf(staysHot)("a branch's signal is aborted when the run is cancelled, also in a nested race", async () => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    const racing = workflow("racing", async (ctx) => {
      await ctx.race("outer", {
        a: (c) =>
          c.race("inner", {
            b: (d) => {
              d.signal.addEventListener("abort", () => seen.push((d.signal.reason as PawlError).code));
              return d.listen("never");
            },
          }),
      });
    });
    const engine = await cluster.engine({ workflows: [racing] });
    const run = await engine.start(racing, undefined);
    await cluster.world.settle();
    await run.cancel();
    await cluster.world.settle();
    expect(seen).toEqual(["RUN_CANCELLED"]);
  });

  it("a branch whose step is being retried has not failed", async () => {
    const cluster = await create(onTestFinished);
    let attempts = 0;
    const racing = workflow("racing", async (ctx) => {
      return await ctx.race("go", {
        bad: (c) => c.step("s", () => Promise.reject(new Error("no")), { retry: false }),
        slow: (c) =>
          c.step("s", () => {
            attempts += 1;
            if (attempts < 3) throw new Error("not yet");
            return attempts;
          }),
      });
    });
    const engine = await cluster.engine({ workflows: [racing] });
    const run = await engine.start(racing, undefined);
    expect(await cluster.finish(run)).toEqual({ winner: "slow", value: 3 });
  });

  it("children of a losing branch are cancelled unless abandoned, and the winner's child completes", async () => {
    const long = workflow("long", (ctx) => ctx.listen("never"));
    const short = workflow("short", (ctx) => ctx.sleep("1 s"));
    const make = () => {
      const racing = workflow("racing", async (ctx) => {
        await ctx.race("go", {
          a: (c) => c.child(long, undefined),
          b: (c) => c.child(short, undefined),
          c: async (c) => {
            await c.startChild(long, undefined, { name: "kept", onParentClose: "abandon" });
            await c.listen("never");
          },
        });
        await ctx.sleep("20 s");
      });
      return { workflow: racing, ran: [], children: [long, short] };
    };
    let ends = 0;
    const checkChildren = async (cluster: TestCluster): Promise<void> => {
      const client = await cluster.engine();
      const status = (location: string) => client.run(`r//go/${location}`).status();
      expect(await Promise.all(["a/long", "b/short", "c/kept"].map(status))).toEqual([
        "cancelled",
        "completed",
        "suspended",
      ]);
      ends += 1;
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      async ({ cluster, journal }) => {
        expect(journal.filter((location) => location.endsWith("~cancel"))).toEqual(["go/a/long/~cancel"]);
        await checkChildren(cluster);
      },
    );
    expect(crashes).toBeGreaterThan(8);
    expect(ends).toBeGreaterThan(crashes);
  });

  it("records of a losing branch are skipped in every replay", async () => {
    const make = () => {
      const ran: string[] = [];
      const racing = workflow("racing", async (ctx) => {
        const results: string[] = [];
        for (let round = 0; round < 3; round += 1) {
          const { winner } = await ctx.race("go", {
            a: async (c) => {
              await c.step("1", () => ran.push("a1"));
              await c.step("2", () => ran.push("a2"));
              return await c.listen("m", { timeout: "10 s" });
            },
            b: async (c) => {
              await c.step("1", () => ran.push("b1"));
              await c.sleep("1 s");
            },
          });
          results.push(winner);
        }
        return results;
      });
      return { workflow: racing, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output }) => {
        expect(output).toEqual(["b", "b", "b"]);
      },
    );
    expect(crashes).toBeGreaterThan(10);
  });
});

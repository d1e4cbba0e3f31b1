import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, Loop, type RecordKind, RollbackError, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Code = (ctx: Ctx) => Promise<unknown>;

/** Runs `before` until it is suspended, then resumes it with the changed code `after`. */
/** Polls and heartbeats that let a test advance the time by days. */
const SELDOM = { poll: "30 days", lease: "90 days" } as const;

async function deploy(cluster: TestCluster, before: Code, after: Code): Promise<unknown> {
  const old = workflow("changing", before);
  const engine = await cluster.engine({ workflows: [old] });
  await engine.start(old, undefined, { id: "r" });
  await cluster.world.advance("1 s");
  const heir = await cluster.takeOver(engine, { workflows: [workflow("changing", after)] });
  await heir.run("r").send("go", 1);
  return await cluster.finish(heir.run("r"));
}

describe.each(TEST_STORES)("ctx.try, on the store $name", ({ create }) => {
  it("try returns a failure as a value with its kind and location", async () => {
    const cluster = await create(onTestFinished);
    const fail = (message: string) => (): never => {
      throw new Error(message);
    };
    const child = workflow("child", async (ctx) => await ctx.step("s", fail("no"), { retry: false }));
    const trying = workflow("trying", async (ctx) => {
      const described = (result: { ok: boolean; failure?: { source: string; scope: string; error: Error } }): string =>
        result.failure === undefined
          ? "ok"
          : `${result.failure.source} in ${result.failure.scope}: ${result.failure.error.message}`;
      return [
        described(await ctx.try("a", (c) => c.step("s", () => 1))),
        described(await ctx.try("b", (c) => c.step("s", fail("no"), { retry: false }))),
        described(await ctx.try("c", (c) => c.join("j", { x: (d) => d.step("s", fail("no"), { retry: false }) }))),
        described(await ctx.try("d", (c) => c.race("r", { x: (d) => d.step("s", fail("no"), { retry: false }) }))),
        described(await ctx.try("e", fail("mine"))),
        described(await ctx.try("f", (c) => c.child(child, undefined))),
      ];
    });
    const engine = await cluster.engine({ workflows: [trying, child] });
    expect(await cluster.finish(await engine.start(trying, undefined))).toEqual([
      "ok",
      "step in b: no",
      "join in c: join j failed: x: no",
      "race in d: race r failed in every branch: x: no",
      "code in e: mine",
      "child in f: the child at f/child failed: no",
    ]);
  });

  it("try does not catch a RollbackError", async () => {
    const cluster = await create(onTestFinished);
    const trying = workflow("trying", async (ctx) => {
      await ctx.try("a", () => {
        throw new RollbackError("undo");
      });
    });
    const engine = await cluster.engine({ workflows: [trying] });
    const run = await engine.start(trying, undefined);
    await expect(cluster.finish(run)).rejects.toMatchObject({ cause: { name: "RollbackError", message: "undo" } });
  });

  it("try catches exactly the kinds in its catch option, even RollbackError", async () => {
    const cluster = await create(onTestFinished);
    const trying = workflow("trying", async (ctx) => {
      const undo = async (): Promise<never> => {
        throw new RollbackError("undo");
      };
      const caught = await ctx.try("a", undo, { catch: ["rollback"] });
      await ctx.try("b", () => Promise.reject(new Error("mine")), { catch: ["rollback"] });
      return caught;
    });
    const engine = await cluster.engine({ workflows: [trying] });
    const run = await engine.start(trying, undefined);
    await expect(cluster.finish(run)).rejects.toMatchObject({ cause: { message: "mine" } });
  });

  it("names inside a scope do not collide with names outside, even if they contain slashes", async () => {
    const cluster = await create(onTestFinished);
    const scoped = workflow("scoped", async (ctx) => {
      const inside = await ctx.try("a", (c) => c.step("b", () => "inside"));
      return [inside, await ctx.step("a/b", () => "outside")];
    });
    const engine = await cluster.engine({ workflows: [scoped] });
    const run = await engine.start(scoped, undefined);
    expect(await cluster.finish(run)).toEqual([{ ok: true, value: "inside" }, "outside"]);
    expect((await run.journal()).map(({ location }) => location)).toEqual(["a/b", "a%2Fb"]);
  });
});

describe.each(TEST_STORES)("ctx.getVersion, on the store $name", ({ create }) => {
  it("getVersion returns 1 for a run that passed it in a scope without records", async () => {
    const cluster = await create(onTestFinished);
    const rest: Code = async (ctx) => {
      await ctx.step("s", () => 1);
      await ctx.listen("go");
    };
    const before: Code = async (ctx) => {
      await ctx.try("scope", async () => undefined);
      await rest(ctx);
    };
    const after: Code = async (ctx) => {
      const scope = await ctx.try("scope", (c) => c.getVersion("v", 2));
      await rest(ctx);
      return scope;
    };
    expect(await deploy(cluster, before, after)).toEqual({ ok: true, value: 1 });
  });

  const old: Code = async (ctx) => {
    await ctx.step("before", () => 1);
    await ctx.step("after", () => 1);
    await ctx.listen("go");
    return "old";
  };

  it("getVersion returns the latest version to a new run, and the same after a deploy", async () => {
    const cluster = await create(onTestFinished);
    const at =
      (latest: number): Code =>
      async (ctx) => {
        const version = await ctx.getVersion("v", latest);
        await ctx.listen("go");
        return version;
      };
    expect(await deploy(cluster, at(2), at(3))).toBe(2);
  });

  it("getVersion returns 1 to a run that passed it with older code", async () => {
    const cluster = await create(onTestFinished);
    expect(
      await deploy(cluster, old, async (ctx) => {
        await ctx.step("before", () => 1);
        const version = await ctx.getVersion("v", 2);
        if (version === 1) await ctx.step("after", () => 1);
        await ctx.listen("go");
        return [version, await ctx.getVersion("later", 5)];
      }),
    ).toEqual([1, 5]);
  });

  it("getVersion returns 1 to a run that is suspended beyond it, although no record follows", async () => {
    const cluster = await create(onTestFinished);
    const after: Code = async (ctx) => {
      await ctx.step("before", () => 1);
      await ctx.step("after", () => 1);
      const version = await ctx.getVersion("v", 2);
      if (version > 1) await ctx.step("new", () => 1);
      await ctx.listen("go");
      return [version, await ctx.getVersion("later", 5)];
    };
    expect(await deploy(cluster, old, after)).toEqual([1, 5]);
    const journal = await (await cluster.client()).run("r").journal();
    expect(journal.map(({ location }) => location)).toEqual(["before", "after", "go", "later"]);
  });

  it("getVersion keeps the deadline of a run that has no record and waits beyond it", async () => {
    const cluster = await create(onTestFinished);
    const before: Code = async (ctx) => (await ctx.listen("go", { timeout: "14 days" })).timedOut;
    const after: Code = async (ctx) => {
      if ((await ctx.getVersion("v", 2)) > 1) await ctx.step("new", () => 1);
      return (await ctx.listen("go", { timeout: "14 days" })).timedOut;
    };
    const [was, becomes] = [workflow("changing", before), workflow("changing", after)];
    const engine = await cluster.engine({ workflows: [was] });
    await engine.start(was, undefined, { id: "r" });
    await cluster.world.settle();
    await engine.shutdown();
    const heir = await cluster.engine({ ...SELDOM, workflows: [becomes] });
    await cluster.world.advance("14 days");
    expect(await cluster.result(heir.run("r"))).toBe(true);
    expect((await heir.run("r").journal()).map(({ location }) => location)).toEqual(["go"]);
  });

  it("getVersion returns the latest version to a run that was rewound to before it", async () => {
    const cluster = await create(onTestFinished);
    const [was, becomes] = [
      workflow("changing", old),
      workflow("changing", async (ctx) => {
        await ctx.step("before", () => 1);
        const version = await ctx.getVersion("v", 2);
        await ctx.step("after", () => 1);
        return version;
      }),
    ];
    const engine = await cluster.engine({ workflows: [was] });
    await engine.start(was, undefined, { id: "r" });
    await cluster.world.settle();
    await engine.shutdown();
    const client = await cluster.client();
    await client.rewind("r", "after");
    const heir = await cluster.engine({ workflows: [becomes] });
    expect(await cluster.finish(heir.run("r"))).toBe(2);
  });

  it("getVersion is decided for each iteration of a loop", async () => {
    const cluster = await create(onTestFinished);
    const rounds =
      (latest: number | null): Code =>
      async (ctx) => {
        const versions: number[] = [];
        return await ctx.loop({
          name: "l",
          state: versions,
          commitInterval: 100,
          run: async (c, seen, round) => {
            const version = latest === null ? 1 : await c.getVersion("v", latest);
            await c.step("s", () => round);
            if (round === 2) await c.listen("go");
            return round === 4 ? Loop.break([...seen, version]) : Loop.continue([...seen, version]);
          },
        });
      };
    expect(await deploy(cluster, rounds(null), rounds(7))).toEqual([1, 1, 1, 7, 7]);
  });

  it("a record of another kind at the location of getVersion is a divergence", async () => {
    const cluster = await create(onTestFinished);
    const before: Code = async (ctx) => {
      await ctx.step("v", () => 1);
      await ctx.listen("go");
    };
    const after: Code = async (ctx) => {
      await ctx.getVersion("v", 2);
      await ctx.listen("go");
    };
    await expect(deploy(cluster, before, after)).rejects.toThrow();
    expect(JSON.stringify(cluster.log)).toMatch(/at v: the journal has step/);
  });

  it("getVersion rejects code that is older than the run's version", async () => {
    const cluster = await create(onTestFinished);
    const at =
      (latest: number): Code =>
      async (ctx) => {
        await ctx.getVersion("v", latest);
        await ctx.listen("go");
      };
    await expect(deploy(cluster, at(3), at(2))).rejects.toMatchObject({
      cause: { code: "OPTION_INVALID", message: expect.stringContaining('run r uses version 3 of "v"') },
    });
  });
});

describe.each(TEST_STORES)("ctx.removed, on the store $name", ({ create }) => {
  const kinds: ReadonlyArray<readonly [string, RecordKind, Code]> = [
    ["step", "step", (ctx) => ctx.step("x", () => 1)],
    ["step that was tried twice", "step", (ctx) => ctx.step("x", retriedOnce(), { retry: { initialMs: 1 } })],
    ["sleep", "sleep", (ctx) => ctx.sleep(1, { name: "x" })],
    ["wait", "listen", (ctx) => ctx.listen("m", { name: "x", timeout: 1 })],
    ["join", "join", (ctx) => ctx.join("x", { a: (c) => c.step("s", () => 1), b: (c) => c.sleep(1) })],
    ["race", "race", (ctx) => ctx.race("x", { a: (c) => c.step("s", () => 1), b: (c) => c.listen("never") })],
    [
      "loop",
      "loop",
      (ctx) => ctx.loop({ name: "x", run: (c, _, n) => c.step("s", () => (n > 1 ? Loop.break() : undefined)) }),
    ],
    ["version", "version", (ctx) => ctx.getVersion("x", 2)],
  ];

  it.each(kinds)("ctx.removed skips a %s", async (_name, kind, code) => {
    const cluster = await create(onTestFinished);
    const result = await deploy(
      cluster,
      async (ctx) => {
        await code(ctx);
        await ctx.step("y", () => "y");
        await ctx.listen("go");
      },
      async (ctx) => {
        ctx.removed("x", kind);
        const y = await ctx.step("y", () => "again");
        await ctx.listen("go");
        return y;
      },
    );
    expect(result).toBe("y");
  });

  it.each(kinds)("ctx.removed skips a %s inside a scope", async (_name, kind, code) => {
    const cluster = await create(onTestFinished);
    const result = await deploy(
      cluster,
      async (ctx) => {
        await ctx.try("scope", async (c) => {
          await code(c);
          return await c.step("y", () => "y");
        });
        await ctx.listen("go");
      },
      async (ctx) => {
        const y = await ctx.try("scope", async (c) => {
          c.removed("x", kind);
          return await c.step("y", () => "again");
        });
        await ctx.listen("go");
        return y.ok && y.value;
      },
    );
    expect(result).toBe("y");
  });

  it("ctx.removed with another kind is a divergence", async () => {
    const cluster = await create(onTestFinished);
    const before: Code = async (ctx) => {
      await ctx.step("x", () => 1);
      await ctx.listen("go");
    };
    const after: Code = async (ctx) => {
      ctx.removed("x", "sleep");
      await ctx.listen("go");
    };
    await expect(deploy(cluster, before, after)).rejects.toThrow(/./);
    expect(JSON.stringify(cluster.log)).toMatch(/at x: the journal has step/);
  });
});

function retriedOnce(): (info: { readonly attempt: number }) => number {
  return ({ attempt }) => {
    if (attempt === 1) throw new Error("once");
    return 1;
  };
}

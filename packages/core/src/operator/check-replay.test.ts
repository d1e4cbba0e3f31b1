import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, checkReplay, type Engine, Loop, type ReplayFinding, type RunHandle, workflow } from "../index.ts";
import { intercepted } from "../testing/intercepted.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Code = (ctx: Ctx) => Promise<unknown>;

interface Change {
  readonly name: string;
  readonly was: Code;
  readonly becomes: Code;
  /** Sends the run what it needs before the change. The run is suspended afterwards. */
  readonly drive?: (run: RunHandle, engine: Engine) => Promise<void>;
}

interface Incompatible extends Change {
  readonly finds: Pick<ReplayFinding, "kind" | "location"> & { readonly recorded: RegExp; readonly requested: RegExp };
}

const noop = workflow("noop", async () => 1);
const other = workflow("other", async () => 1);
const waits: Code = async (ctx) => {
  await ctx.step("a", () => 1);
  await ctx.step("b", () => 2);
  await ctx.listen("go");
  return await ctx.step("c", () => 3);
};
const loops = (step: string): Code => {
  return async (ctx) => {
    await ctx.loop({
      name: "loop",
      state: 0,
      commitInterval: 2,
      run: async (c: Ctx, state: number) => {
        await c.step(step, () => state);
        await c.listen("next");
        return Loop.continue(state + 1);
      },
    });
  };
};
const rounds = async (run: RunHandle): Promise<void> => {
  for (let n = 0; n < 5; n += 1) await run.send("next", n);
};

const INCOMPATIBLE: readonly Incompatible[] = [
  {
    name: "a step is renamed",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("other", () => 2);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "b", recorded: /^step at b$/, requested: /^step at other$/ },
  },
  {
    name: "a step is removed",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "b", recorded: /^step at b$/, requested: /^listen at go$/ },
  },
  {
    name: "two steps change places",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("b", () => 2);
      await ctx.step("a", () => 1);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "a", recorded: /^step at a$/, requested: /^step at b$/ },
  },
  {
    name: "a step is inserted before a recorded one",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("between", () => 1);
      await ctx.step("b", () => 2);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "b", recorded: /^step at b$/, requested: /^step at between$/ },
  },
  {
    name: "a step becomes another kind of operation with the same name",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep("1 s", { name: "b" });
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "b", recorded: /^step at b$/, requested: /^sleep at b$/ },
  },
  {
    name: "the code ends before the last recorded step",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
    },
    finds: { kind: "record", location: "b", recorded: /^step at b$/, requested: /^its end$/ },
  },
  {
    name: "a branch is added to a join",
    was: async (ctx) => {
      await ctx.join("ship", { label: (c) => c.step("print", () => 1) });
      await ctx.listen("go");
    },
    becomes: async (ctx) => {
      await ctx.join("ship", { label: (c) => c.step("print", () => 1), mail: (c) => c.step("send", () => 2) });
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "ship", recorded: /^join of .*label/, requested: /^join of .*mail.* at ship$/ },
  },
  {
    name: "a step of a loop iteration is renamed",
    was: loops("x"),
    becomes: loops("y"),
    drive: rounds,
    finds: {
      kind: "record",
      location: "loop/~4/x",
      recorded: /^step at loop\/~4\/x$/,
      requested: /^step at loop\/~4\/y$/,
    },
  },
  {
    name: "a step between two attempts is removed",
    was: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("flaky", () => Promise.reject(new Error("no")), { retry: { initialMs: "1 hour" } });
    },
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "flaky", recorded: /^retry at flaky$/, requested: /^listen at go$/ },
  },
  {
    name: "a child is started under another name",
    was: async (ctx) => {
      await ctx.child(noop, undefined, { name: "first" });
      await ctx.listen("go");
    },
    becomes: async (ctx) => {
      await ctx.child(noop, undefined, { name: "second" });
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "first", recorded: /^spawn at first$/, requested: /^spawn at second$/ },
  },
  {
    name: "a child of the same name is another workflow",
    was: async (ctx) => {
      await ctx.child(noop, undefined, { name: "kid" });
      await ctx.listen("go");
    },
    becomes: async (ctx) => {
      await ctx.child(other, undefined, { name: "kid" });
      await ctx.listen("go");
    },
    finds: {
      kind: "record",
      location: "kid",
      recorded: /^spawn of noop at kid$/,
      requested: /^spawn of other at kid$/,
    },
  },
  {
    name: "a message is sent to another run",
    was: async (ctx) => {
      await ctx.send("ann", "news", 1);
      await ctx.listen("go");
    },
    becomes: async (ctx) => {
      await ctx.send("bob", "news", 1);
      await ctx.listen("go");
    },
    finds: { kind: "record", location: "send news", recorded: /^send to ann at/, requested: /^send to bob at/ },
  },
  {
    name: "the code ends while the run waits",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
    },
    finds: { kind: "wait", location: "go", recorded: /^listen at go for message go$/, requested: /^its end$/ },
  },
  {
    name: "a step is inserted before the open wait",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      await ctx.step("new", () => 3);
      await ctx.listen("go");
    },
    finds: { kind: "wait", location: "go", recorded: /^listen at go for message go$/, requested: /^step at new$/ },
  },
  {
    name: "the code fails while the run waits",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      throw new Error("not any more");
    },
    finds: {
      kind: "wait",
      location: "go",
      recorded: /^listen at go/,
      requested: /^its end: it fails with not any more$/,
    },
  },
  {
    name: "a wait receives another message at the same location",
    was: async (ctx) => ctx.listen("yes", { name: "answer" }),
    becomes: async (ctx) => ctx.listen("ok", { name: "answer" }),
    finds: {
      kind: "wait",
      location: "answer",
      recorded: /^listen at answer for message yes$/,
      requested: /^listen at answer for message ok$/,
    },
  },
  {
    name: "an arm is removed from an open select",
    was: async (ctx) => ctx.select({ yes: { message: "yes" }, no: { message: "no" } }),
    becomes: async (ctx) => ctx.select({ yes: { message: "yes" } }),
    finds: {
      kind: "wait",
      location: "select",
      recorded: /message no/,
      requested: /^select at select for message yes$/,
    },
  },
  {
    name: "a step is inserted before an open wait",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      await ctx.step("sudden", () => 3);
      await ctx.listen("go");
    },
    finds: { kind: "wait", location: "go", recorded: /^listen at go/, requested: /^step at sudden$/ },
  },
  {
    name: "the code awaits a promise that is not from ctx",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      await new Promise(() => undefined);
    },
    finds: { kind: "standstill", location: "go", recorded: /^listen at go/, requested: /^nothing$/ },
  },
];

const COMPATIBLE: readonly Change[] = [
  { name: "an unchanged workflow", was: waits, becomes: waits },
  {
    name: "a changed step body and retry policy",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => "another value", { retry: false });
      await ctx.step("b", () => 2, { timeout: "1 s" });
      await ctx.listen("go");
    },
  },
  {
    name: "changed code after the wait",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      await ctx.listen("go");
      await ctx.step("d", () => 3);
      await ctx.sleep("1 day");
    },
  },
  {
    name: "a changed sleep duration and wait timeout",
    was: async (ctx) => Promise.all([ctx.sleep("1 day"), ctx.listen("go", { timeout: "2 days" })]),
    becomes: async (ctx) => Promise.all([ctx.sleep("9 days"), ctx.listen("go")]),
  },
  {
    name: "a step added behind getVersion",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      if ((await ctx.getVersion("more", 2)) > 1) await ctx.step("more", () => 1);
      await ctx.step("b", () => 2);
      await ctx.listen("go");
    },
  },
  {
    name: "a step added behind getVersion before the open wait",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      if ((await ctx.getVersion("more", 2)) > 1) await ctx.step("more", () => 1);
      await ctx.listen("go");
    },
  },
  {
    name: "a step added behind getVersion to a run that has only an open wait",
    was: async (ctx) => ctx.listen("go", { timeout: "14 days" }),
    becomes: async (ctx) => {
      if ((await ctx.getVersion("more", 2)) > 1) await ctx.step("more", () => 1);
      await ctx.listen("go", { timeout: "14 days" });
    },
  },
  {
    name: "a step declared as removed",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.removed("b", "step");
      await ctx.listen("go");
    },
  },
  {
    name: "code moved into functions, and a changed branch that did not run",
    was: waits,
    becomes: async (ctx) => {
      const both = async (): Promise<void> => {
        for (const name of ["a", "b"]) await ctx.step(name, () => 1);
      };
      await both();
      if (ctx.now() === 0) await ctx.step("never", () => 1);
      await ctx.listen("go");
    },
  },
  {
    name: "a sent message and a getVersion call added before the wait",
    was: waits,
    becomes: async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
      await ctx.send("somebody", "news", 1);
      await ctx.getVersion("later", 3);
      await ctx.listen("go");
    },
  },
  {
    name: "a wait added in parallel, and an arm added to a select",
    was: async (ctx) => Promise.race([ctx.select({ yes: { message: "yes" } })]),
    becomes: async (ctx) =>
      Promise.race([ctx.select({ yes: { message: "yes" }, no: { message: "no" } }), ctx.listen("x")]),
  },
  {
    name: "changed code after the wait of a loop iteration",
    was: loops("x"),
    becomes: async (ctx) => {
      await ctx.loop({
        name: "loop",
        state: 0,
        commitInterval: 2,
        run: async (c: Ctx, state: number, round: number) => {
          await c.step("x", () => state);
          await c.listen("next");
          if (round > 4) await c.step("after", () => 1);
          return Loop.continue(state + 1);
        },
      });
    },
    drive: rounds,
  },
  {
    name: "changed handling of a failed step",
    was: async (ctx) => {
      await ctx.step("a", () => Promise.reject(new Error("no")), { retry: false }).catch(() => undefined);
      await ctx.listen("go");
    },
    becomes: async (ctx) => {
      const tried = await ctx.tryStep("a", () => 1);
      if (tried.ok) await ctx.step("more", () => 1);
      await ctx.listen("go");
    },
  },
  {
    name: "a changed step whose body is running",
    was: async (ctx) => ctx.step("slow", () => new Promise(() => undefined)),
    becomes: async (ctx) => ctx.step("slow", () => "quick"),
  },
];

async function suspendedRun(cluster: TestCluster, { was, drive }: Change): Promise<void> {
  const flow = workflow("flow", was);
  const engine = await cluster.engine({ workflows: [flow, noop] });
  const run = await engine.start(flow, undefined, { id: "r" });
  await drive?.(run, engine);
  await cluster.world.settle();
  await cluster.world.advance("2 s");
}

/** Checks the code, and that the check only reads from the store. */
async function checkCode(cluster: TestCluster, becomes: Code) {
  const requested = new Set<string>();
  const store = intercepted(cluster.connect(), async (call, proceed) => {
    requested.add(call.method);
    return await proceed();
  });
  const flow = workflow("flow", (ctx) => becomes(ctx));
  const report = await checkReplay({ store, workflows: [flow, noop], world: cluster.world });
  expect(
    [...requested].filter((method) => ["commit", "claim", "heartbeat", "retire", "prune"].includes(method)),
  ).toEqual([]);
  return report;
}

describe.each(TEST_STORES)("checkReplay, on the store $name", ({ create }) => {
  it.each(INCOMPATIBLE)("checkReplay reports a finding when $name", async (change) => {
    const cluster = await create(onTestFinished);
    await suspendedRun(cluster, change);
    const before = await cluster.dump();
    const { ok, checked, findings } = await checkCode(cluster, change.becomes);
    expect({ ok, checked, findings: findings.length }).toEqual({ ok: false, checked: 1, findings: 1 });
    const { recorded, requested, ...exactly } = change.finds;
    expect(findings[0]).toMatchObject({ runId: "r", workflow: "flow", ...exactly });
    expect(findings[0]?.recorded).toMatch(recorded);
    expect(findings[0]?.requested).toMatch(requested);
    expect(await cluster.dump()).toBe(before);
  });

  it.each(COMPATIBLE)("checkReplay accepts $name", async (change) => {
    const cluster = await create(onTestFinished);
    await suspendedRun(cluster, change);
    const before = await cluster.dump();
    const { ok, checked, findings } = await checkCode(cluster, change.becomes);
    expect({ ok, checked, findings }).toEqual({ ok: true, checked: 1, findings: [] });
    expect(await cluster.dump()).toBe(before);
  });

  it("checkReplay executes no step body and logs nothing", async () => {
    const cluster = await create(onTestFinished);
    const effects: string[] = [];
    const flow = workflow("flow", async (ctx) => {
      ctx.log("from the workflow");
      await ctx.step("a", () => effects.push("a"));
      await ctx.listen("go");
      await ctx.step("b", () => effects.push("b"));
    });
    const engine = await cluster.engine({ workflows: [flow] });
    await engine.start(flow, undefined);
    await engine.start(flow, undefined, { delay: "1 day" });
    await cluster.world.settle();
    effects.length = 0;
    const lines = cluster.log.length;
    const report = await checkReplay({ store: cluster.connect(), workflows: [flow], world: cluster.world });
    expect(report).toMatchObject({ ok: true, checked: 2, open: 2 });
    expect(effects).toEqual([]);
    expect(cluster.log.length).toBe(lines);
  });

  it("checkReplay acquires no resource; code can read and call the stand-in", async () => {
    const cluster = await create(onTestFinished);
    const did: string[] = [];
    const flow = workflow("flow", async (ctx) => {
      const held = await ctx.resource("connection", {
        acquire: () => {
          did.push("acquired");
          return { table: (name: string) => ({ name }) };
        },
        release: () => did.push("released"),
      });
      const { name } = held.value.table("orders");
      await ctx.step("read", () => did.push(`read ${name}`));
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [flow] });
    await engine.start(flow, undefined);
    await cluster.world.settle();
    expect(did).toEqual(["acquired", "read orders", "released"]);
    const report = await checkReplay({ store: cluster.connect(), workflows: [flow], world: cluster.world });
    expect(report).toMatchObject({ ok: true, checked: 1 });
    expect(did).toHaveLength(3);
  });

  it("checkReplay reports progress, keeps at most findingsMax findings, and samples the same runs each time", async () => {
    const cluster = await create(onTestFinished);
    const flow = workflow("flow", waits);
    const engine = await cluster.engine({ workflows: [flow, noop] });
    for (let n = 0; n < 60; n += 1) await engine.start(flow, undefined);
    await cluster.world.settle();
    const other = workflow("flow", async (ctx) => ctx.step("z", () => 1));
    const check = (over: object) =>
      checkReplay({ store: cluster.connect(), workflows: [other], world: cluster.world, ...over });
    const progress: number[] = [];
    const seen: string[] = [];
    const report = await check({
      findingsMax: 2,
      onProgress: ({ checked, open }: { checked: number; open: number }) => progress.push(checked / open),
      onFinding: ({ runId }: ReplayFinding) => seen.push(runId),
    });
    expect(report).toMatchObject({ ok: false, checked: 60, open: 60, findingCount: 60 });
    expect(report.findings).toHaveLength(2);
    expect(progress).toHaveLength(60);
    expect(progress.at(-1)).toBe(1);
    expect(new Set(seen).size).toBe(60);
    const sampled = await check({ sample: 0.3 });
    expect(sampled.checked).toBeGreaterThan(2);
    expect(sampled.checked).toBeLessThan(50);
    const again = await check({ sample: 0.3 });
    expect(again.findings.map(({ runId }) => runId)).toEqual(sampled.findings.map(({ runId }) => runId));
    expect((await check({ limit: 5 })).checked).toBe(5);
    await expect(check({ sample: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("checkReplay rejects an empty list of workflows", async () => {
    const cluster = await create(onTestFinished);
    const check = checkReplay({ store: cluster.connect(), workflows: [], world: cluster.world });
    await expect(check).rejects.toMatchObject({
      code: "OPTION_INVALID",
      message: expect.stringContaining("workflows"),
    });
  });

  it("checkReplay logs a warning when it checked no run", async () => {
    const cluster = await create(onTestFinished);
    const flow = workflow("flow", waits);
    const lines: unknown[] = [];
    const check = () =>
      checkReplay({
        store: cluster.connect(),
        workflows: [flow],
        world: cluster.world,
        log: (...line) => void lines.push(line),
      });
    expect(await check()).toMatchObject({ ok: true, checked: 0, open: 0 });
    const text = expect.stringContaining("checkReplay checked no run");
    expect(lines).toEqual([["warn", text, { workflows: ["flow"], open: 0, unknown: {} }]]);
    const engine = await cluster.engine({ workflows: [workflow("other", waits)] });
    await engine.start(workflow("other", waits), undefined);
    await cluster.world.settle();
    await check();
    expect(lines[1]).toEqual(["warn", text, { workflows: ["flow"], open: 1, unknown: { other: 1 } }]);
    const known = await cluster.engine({ workflows: [flow] });
    await known.start(flow, undefined);
    await cluster.world.settle();
    await check();
    expect(lines).toHaveLength(2);
  });

  it("checkReplay reports versions without code, and counts runs of other workflows", async () => {
    const cluster = await create(onTestFinished);
    const one = workflow("flow", { version: 1 }, waits);
    const other = workflow("other", waits);
    const engine = await cluster.engine({ workflows: [one, other] });
    await engine.start(one, undefined, { id: "r" });
    await engine.start(other, undefined);
    await cluster.world.settle();
    const two = workflow("flow", { version: 2 }, waits);
    const report = await checkReplay({ store: cluster.connect(), workflows: [two], world: cluster.world });
    expect(report).toMatchObject({ ok: false, checked: 1, unknown: { other: 1 } });
    expect(report.findings[0]).toMatchObject({ runId: "r", kind: "version", recorded: "flow, version 1" });
    const both = await checkReplay({ store: cluster.connect(), workflows: [one, two], world: cluster.world });
    expect(both).toMatchObject({ ok: true, unknown: { other: 1 } });
  });
});

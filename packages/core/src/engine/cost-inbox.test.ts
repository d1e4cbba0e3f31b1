import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../engine/engine.ts";
import type { RunHandle } from "../engine/run-handle.ts";
import { WorkCount } from "../testing/work-count.ts";
import type { SendOptions } from "../workflow/ctx.ts";

const work = await WorkCount.start("/packages/core/src/");
afterAll(() => work.stop());

// Imported after counting has started: see `WorkCount`.
const { workflow, Loop } = await import("../index.ts");
const { TEST_STORES } = await import("../testing/test-stores.ts");

type Cluster = Awaited<ReturnType<(typeof TEST_STORES)[number]["create"]>>;

const FEW = 500;
const MANY = 4 * FEW;
const PORTION = 50;

const listenN = workflow("listenN", async (ctx, count: number) => {
  await ctx.listen("go");
  for (let got = 0; got < count; got += 100) await ctx.listenN("item", 100);
});
const listen = workflow("listen", async (ctx, count: number) => {
  await ctx.listen("go");
  for (let got = 0; got < count; got += 1) await ctx.listen("item");
});
const nothing = workflow("nothing", async (ctx, _count: number) => void (await ctx.listen("go")));
const pairing = workflow("pairing", async (ctx, count: number) => {
  for (let got = 0; got < count; got += 1) await ctx.listen("item");
});
const drains = [
  listenN,
  listen,
  workflow("timeouts", async (ctx, count: number) => {
    await ctx.listen("go");
    for (let got = 0; got < count; got += 1) await ctx.listen("item", { timeout: "1 day" });
  }),
  workflow("loop", async (ctx, count: number) => {
    await ctx.listen("go");
    await ctx.loop({
      name: "items",
      state: 0,
      run: async (inner, got) => {
        await inner.listen("item");
        return got + 1 < count ? Loop.continue(got + 1) : Loop.break(got);
      },
    });
  }),
  workflow("select", async (ctx, count: number) => {
    await ctx.listen("go");
    for (let got = 0; got < count; got += 1)
      await ctx.select({ item: { message: "item" }, other: { message: "other" } });
  }),
  workflow("all", async (ctx, count: number) => {
    await ctx.listen("go");
    await Promise.all(Array.from({ length: count }, () => ctx.listen("item")));
  }),
];
const flows = [...drains, nothing, pairing];

/** Sends in portions, as several senders would: a run receives a hint of each. */
async function sendItems(
  cluster: Cluster,
  id: string,
  count: number,
  name = "item",
  options: SendOptions = {},
): Promise<void> {
  const client = await cluster.client();
  for (let sent = 0; sent < count; sent += PORTION) {
    await Promise.all(Array.from({ length: PORTION }, (_, n) => client.send(id, name, sent + n, options)));
  }
}

/** Returns the work of the call that `prepare` returns, after a run of the workflow has started and is suspended. */
async function workOf(
  { create }: (typeof TEST_STORES)[number],
  flow: (typeof flows)[number],
  count: number,
  prepare: (parts: { readonly cluster: Cluster; readonly engine: Engine; readonly run: RunHandle }) => Promise<Act>,
): Promise<number> {
  const cluster = await create(onTestFinished);
  const engine = await cluster.engine({ workflows: flows });
  const run = await engine.start(flow, count, { id: "r" });
  await cluster.world.settle();
  const measured = await prepare({ cluster, engine, run });
  return await work.of(measured);
}

type Act = () => Promise<void>;

/** Four times the messages may cost a little more than four times the work, and far less than sixteen times. */
const FACTOR_MAX = 5;

async function expectLinear(measure: (count: number) => Promise<number>): Promise<void> {
  await measure(FEW);
  const [few, many] = [await measure(FEW), await measure(MANY)];
  expect(many).toBeLessThan(FACTOR_MAX * few);
}

describe.each(TEST_STORES)("the work of an inbox on $name", (store) => {
  it.each(drains)("$name receives four times the pending messages with at most five times the work", async (flow) => {
    await expectLinear((count) =>
      workOf(store, flow, count, async ({ cluster, engine, run }) => {
        await sendItems(cluster, run.id, count);
        return async () => {
          await engine.send(run.id, "go", null);
          await cluster.finish(run);
        };
      }),
    );
  });

  it("a new worker loads and receives four times the pending messages with at most five times the work", async () => {
    await expectLinear((count) =>
      workOf(store, listen, count, async ({ cluster, engine, run }) => {
        await sendItems(cluster, run.id, count);
        return async () => {
          const heir = await cluster.takeOver(engine, { workflows: flows });
          await heir.send(run.id, "go", null);
          await cluster.finish(heir.run(run.id));
        };
      }),
    );
  });

  it("four times the sends cost at most five times the work", async () => {
    await expectLinear((count) =>
      workOf(store, nothing, count, async ({ cluster, run }) => {
        return async () => await sendItems(cluster, run.id, count);
      }),
    );
  });

  it("messages to a run with four times the unreceived messages of another name cost the same", async () => {
    const pairs = async (backlog: number): Promise<number> =>
      await workOf(store, pairing, FEW / 10, async ({ cluster, engine, run }) => {
        await sendItems(cluster, run.id, backlog, "other");
        return async () => {
          for (let pair = 0; pair < FEW / 10; pair += 1) {
            await engine.send(run.id, "other", pair);
            await engine.send(run.id, "item", pair);
            await cluster.world.settle();
          }
          await cluster.result(run);
        };
      });
    await pairs(FEW);
    const [few, many] = [await pairs(FEW), await pairs(MANY)];
    expect(many).toBeLessThan(2 * few);
  });

  it("a rewind returns four times the messages to the inbox with at most five times the work", async () => {
    await expectLinear((count) =>
      workOf(store, listenN, count, async ({ cluster, engine, run }) => {
        await sendItems(cluster, run.id, count);
        await engine.send(run.id, "go", null);
        await cluster.finish(run);
        return async () => void (await engine.rewind(run.id, 0));
      }),
    );
  });

  it.each(["deadLetter", "broadcast"] as const)(
    "the end of a run with four times the messages to %s costs at most five times the work",
    async (onTargetTerminated) => {
      await expectLinear((count) =>
        workOf(store, nothing, count, async ({ cluster, engine, run }) => {
          await sendItems(cluster, run.id, count, "item", { onTargetTerminated });
          return async () => {
            await engine.send(run.id, "go", null);
            await cluster.finish(run);
          };
        }),
      );
    },
  );
});

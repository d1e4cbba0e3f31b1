import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

/** What a look at the store says of a deadline comes late: while the session, which kept it by itself, writes that it rests again. */
function lateLooks(store: Store): Store {
  let comesToRest = (): void => undefined;
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      comesToRest = resolve;
    });
  let rests = 0;
  return intercepted(store, async (call, proceed) => {
    const answer = await proceed();
    if (call.method === "dueRuns" && Array.isArray(answer) && answer.length > 0) await next();
    const isRest = call.batch.some((each) => each.kind === "append" && each.state?.status === "suspended");
    if (!isRest) return answer;
    rests += 1;
    if (rests === 2) {
      comesToRest();
      // Both answers are heard of before the program is next found at rest.
      for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
    }
    return answer;
  });
}

describe.each(TEST_STORES)("coming to rest, on the store $name", ({ create }) => {
  it("happens to a run that is woken for nothing while that is written", async () => {
    const cluster = await create(onTestFinished);
    const held: string[] = [];
    const naps = workflow("naps", async (ctx) => {
      await ctx.resource("lamp", { acquire: () => held.push("lit"), release: () => void held.pop() });
      await ctx.sleep("1 hour");
      await ctx.sleep("1 hour");
      return "rested";
    });
    const engine = await cluster.engine({ workflows: [naps], poll: "30 days", lease: "90 days", through: lateLooks });
    const run = await engine.start(naps, undefined);
    await cluster.world.advance("1 hour");
    expect(held).toEqual([]);
    await cluster.world.advance("1 hour");
    expect(await cluster.result(run)).toBe("rested");
  });
});

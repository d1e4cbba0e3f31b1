import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

/** Delays the reply of `dueRuns` until the session, which has noticed the deadline itself, commits its next suspension. */
function lateDueRuns(store: Store): Store {
  let onSuspend = (): void => undefined;
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      onSuspend = resolve;
    });
  let suspensions = 0;
  return intercepted(store, async (call, proceed) => {
    const answer = await proceed();
    if (call.method === "dueRuns" && Array.isArray(answer) && answer.length > 0) await next();
    const isSuspension = call.batch.some((each) => each.kind === "append" && each.state?.status === "suspended");
    if (!isSuspension) return answer;
    suspensions += 1;
    if (suspensions === 2) {
      onSuspend();
      // Both replies arrive before the session next finds its program idle.
      for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
    }
    return answer;
  });
}

describe.each(TEST_STORES)("suspending, on the store $name", ({ create }) => {
  it("a run that is woken without need during the commit of its suspension stays suspended", async () => {
    const cluster = await create(onTestFinished);
    const held: string[] = [];
    const naps = workflow("naps", async (ctx) => {
      await ctx.resource("lamp", { acquire: () => held.push("lit"), release: () => void held.pop() });
      await ctx.sleep("1 hour");
      await ctx.sleep("1 hour");
      return "rested";
    });
    const engine = await cluster.engine({ workflows: [naps], poll: "30 days", lease: "90 days", through: lateDueRuns });
    const run = await engine.start(naps, undefined);
    await cluster.world.advance("1 hour");
    expect(held).toEqual([]);
    await cluster.world.advance("1 hour");
    expect(await cluster.result(run)).toBe("rested");
  });
});

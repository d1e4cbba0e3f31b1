import { workflow } from "pawl";

/** How long a silent worker is taken for alive in W5; the second process begins when that is over. */
export const LEASE_MS = 1_000;

/**
 * A run of many steps that then goes on.
 *
 * @param {(count: number) => void} entered
 * @param {() => Promise<void>} wentOn
 */
export function longRun(entered, wentOn) {
  return workflow("long", async (ctx, count) => {
    entered(count);
    for (let step = 0; step < count; step += 1) {
      await ctx.step(`step-${step}`, async () => ({ step, ok: true }));
    }
    await wentOn();
    await ctx.step("on", () => new Promise(() => undefined));
  });
}

import { workflow } from "pawl";

/** The lease in W5. The second process starts when it has expired. */
export const LEASE_MS = 1_000;

/**
 * A run of many steps, after which its code continues.
 *
 * @param {(count: number) => void} entered
 * @param {() => Promise<void>} resumed
 */
export function longRun(entered, resumed) {
  return workflow("long", async (ctx, count) => {
    entered(count);
    for (let step = 0; step < count; step += 1) {
      await ctx.step(`step-${step}`, async () => ({ step, ok: true }));
    }
    await resumed();
    await ctx.step("on", () => new Promise(() => undefined));
  });
}

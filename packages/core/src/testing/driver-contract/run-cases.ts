import { runWorkflow } from "../../host/run-workflow.ts";
import { workflow } from "../../workflow/workflow.ts";
import type { DriverCase } from "./driver-subject.ts";

const order = workflow("contract-order", async (ctx, cents: number) => {
  const charged = await ctx.step("charge", () => cents * 2);
  const { value } = await ctx.listen<string>("approve");
  await ctx.loop({
    name: "pack",
    state: 0,
    run: async (c, n) =>
      n === 50 ? { kind: "break", value: n } : { kind: "continue", state: await c.step("box", () => n + 1) },
  });
  return `${charged} approved by ${value}`;
});

const log = (): void => undefined;

export const runCases: readonly DriverCase[] = [
  {
    name: "a suspended run is resumed by the next call and completes with the message sent to it",
    async run({ driver, reopen }, expect) {
      const first = runWorkflow("run", order, 21, driver, { log });
      const waiting = await first.result;
      expect([waiting.state, waiting.sleepUntil, waiting.waitingFor[0]?.arms[0]?.name]).toEqual([
        "suspended",
        null,
        "approve",
      ]);
      await first.message("approve", "ann");
      const next = reopen === undefined ? driver : await reopen();
      const { state, output } = await runWorkflow("run", order, 0, next, { log }).result;
      expect([state, output]).toEqual(["completed", "42 approved by ann"]);
    },
  },
  {
    name: "a live run receives a message",
    async run({ driver }, expect) {
      const run = runWorkflow("run", order, 21, driver, { mode: "live", log });
      await run.message("approve", "bob");
      expect((await run.result).output).toBe("42 approved by bob");
    },
  },
];

import { expect, it, onTestFinished } from "vitest";
import { createEngine } from "../engine/engine.ts";
import { exportRun } from "../operator/move-run.ts";
import type { RunExport } from "../operator/run-export.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import { workflow } from "../workflow/workflow.ts";
import { replayJournal } from "./replay-journal.ts";
import { virtualWorld } from "./virtual-world.ts";

const ran: string[] = [];
const order = workflow("order", async (ctx, cents: number) => {
  await ctx.step("charge", () => void ran.push("charge"));
  const answer = await ctx.listen<string>("approve", { timeout: "1 day" });
  if (!answer.timedOut && answer.value === "no") throw new Error("refused");
  return { cents, by: answer.timedOut ? null : answer.value };
});

/** An exported order that received `answer`, or that still waits if it is null. */
async function exportedOrder(answer: string | null): Promise<RunExport> {
  const world = virtualWorld();
  const store = memoryStore();
  const engine = await createEngine({ store, world, workflows: [order], log: () => undefined });
  onTestFinished(() => engine.shutdown({ drainMs: 0 }));
  await engine.start(order, 499, { id: "o-1" });
  await world.settle();
  if (answer !== null) await engine.send("o-1", "approve", answer);
  await world.settle();
  return await exportRun(store, "o-1", { keepOpen: true });
}

it("replayJournal replays a journal without executing a step, and returns how the replay ends", async () => {
  const [ended, failed, open] = [await exportedOrder("ann"), await exportedOrder("no"), await exportedOrder(null)];
  ran.length = 0;
  const output = { cents: 499, by: "ann" };
  expect(await replayJournal(order, JSON.stringify(ended))).toEqual({
    runId: "o-1",
    records: 2,
    end: "completed",
    output,
  });
  expect(await replayJournal(order, failed)).toMatchObject({ end: "failed" });
  expect(await replayJournal(order, open)).toMatchObject({ end: "open", records: 1 });
  expect(ran).toEqual([]);
});

it("replayJournal rejects code that requests another operation, requests more operations, or ends differently", async () => {
  const ended = await exportedOrder("ann");
  const renamed = workflow("order", async (ctx) => void (await ctx.step("debit", () => 1)));
  const longer = workflow("order", async (ctx, cents: number) => {
    const output = await order.run(ctx, cents);
    await ctx.step("ship", () => "shipped");
    return output;
  });
  const other = workflow("order", async (ctx, cents: number) => ({
    ...(await order.run(ctx, cents)),
    cents: cents + 1,
  }));
  const failing = workflow("order", async (ctx, cents: number) => {
    await order.run(ctx, cents);
    throw new Error("no");
  });
  const errorOf = async (code: typeof order | typeof renamed): Promise<string> =>
    await replayJournal(code as typeof order, ended).then(
      () => "fits",
      (error: unknown) => (error as Error).message,
    );
  expect(await errorOf(renamed)).toBe(
    "run o-1 of order: at charge the journal has step at charge (record 1), the code requests step at debit",
  );
  expect(await errorOf(longer)).toContain("the run is completed, the code requests step at ship");
  expect(await errorOf(other)).toContain(
    'the run returned {"cents":499,"by":"ann"}, the code returns {"cents":500,"by":"ann"}',
  );
  expect(await errorOf(failing)).toContain("the run is completed, the code is failed");
  const unknown = workflow("another", async () => 1);
  await expect(replayJournal(unknown, ended)).rejects.toMatchObject({ code: "WORKFLOW_UNKNOWN" });
  await expect(replayJournal(order, "[]")).rejects.toMatchObject({ code: "EXPORT_INVALID" });
});

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

/** An order that was answered, or that waits. */
async function golden(answer: string | null): Promise<RunExport> {
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

it("feeds a journal to code without running a step, and says where that comes to", async () => {
  const [ended, failed, open] = [await golden("ann"), await golden("no"), await golden(null)];
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

it("rejects code that asks for something else, asks for more, or comes to another end", async () => {
  const ended = await golden("ann");
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
  const says = async (code: typeof order | typeof renamed): Promise<string> =>
    await replayJournal(code as typeof order, ended).then(
      () => "fits",
      (error: unknown) => (error as Error).message,
    );
  expect(await says(renamed)).toBe(
    "run o-1 of order: at charge the journal holds step at charge (record 1), and the code asks for step at debit",
  );
  expect(await says(longer)).toContain("the run is completed, and the code asks for step at ship");
  expect(await says(other)).toContain(
    'the run gave {"cents":499,"by":"ann"}, and the code gives {"cents":500,"by":"ann"}',
  );
  expect(await says(failing)).toContain("the run is completed, and the code comes to its end failed");
  const unknown = workflow("another", async () => 1);
  await expect(replayJournal(unknown, ended)).rejects.toMatchObject({ code: "WORKFLOW_UNKNOWN" });
  await expect(replayJournal(order, "[]")).rejects.toMatchObject({ code: "EXPORT_INVALID" });
});

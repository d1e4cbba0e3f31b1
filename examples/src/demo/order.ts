import { workflow } from "pawl";

export interface Order {
  readonly item: string;
  readonly cents: number;
  /** False if no one approves the order; its wait times out after a few seconds. */
  readonly someoneApproves: boolean;
}

/** Step bodies print when they are executed. A step without a line was not executed again. */
function effect(text: string): void {
  console.log(`         » ${text}`);
}

/** A stand-in for work that takes a moment. */
function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150));
}

export const shipment = workflow("shipment", async (ctx, input: { readonly item: string }) => {
  await ctx.step("pack", async () => {
    effect(`packing ${input.item}`);
    await moment();
  });
  return await ctx.step("label", async () => {
    effect("printing a label");
    await moment();
    return `TRACK-${ctx.runId.slice(0, ctx.runId.indexOf("//"))}`;
  });
});

export const order = workflow("order", async (ctx, input: Order) => {
  await ctx.step("reserve", async () => {
    effect(`reserving ${input.item}`);
    await moment();
  });
  const receipt = await ctx.step("charge", ({ attempt, idempotencyKey }) => charge(input, attempt, idempotencyKey), {
    retry: { maxAttempts: 3, initialMs: 500 },
  });
  await ctx.sleep("1 second", { name: "cool-off" });
  const approval = await ctx.listen<{ readonly by: string }>("approve", {
    timeout: input.someoneApproves ? "1 hour" : "3 seconds",
  });
  if (approval.timedOut) {
    await ctx.step("refund", () => effect(`refunding ${input.cents} cents (${receipt})`));
    await ctx.step("release", () => effect(`releasing ${input.item}`));
    return { status: "given up: nobody approved" } as const;
  }
  const tracking = await ctx.child(shipment, { item: input.item });
  await ctx.step("notify", () => effect(`telling the customer: ${tracking}`));
  return { status: "shipped", approvedBy: approval.value.by, tracking } as const;
});

/** Fails at the first attempt. Attempts are counted in the journal, so a crash does not reset the count. */
async function charge(input: Order, attempt: number, key: string): Promise<string> {
  effect(`charging ${input.cents} cents, try ${attempt} (key ${key})`);
  await moment();
  if (attempt === 1) throw new Error("the card network is busy");
  return `receipt-${key}`;
}

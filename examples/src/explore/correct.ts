/** The workflows of faulty.ts, fixed. */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { workflow } from "pawl";
import { effectLog } from "pawl/testing";

export const effects = effectLog();

export const chargesOnce = workflow("charges once", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }));
  return await ctx.step("ship", ({ idempotencyKey }) => {
    effects.happened("parcel", { key: idempotencyKey });
    return "shipped";
  });
});

/** A separate step creates the key, so that every attempt of the charge has the same key. */
export const keyFromStep = workflow("key from step", async (ctx, cents: number) => {
  const key = await ctx.step("key", () => crypto.randomUUID());
  await ctx.step("charge", () => effects.happened(`charge ${cents}`, { key }));
  return { key, at: new Date(ctx.now()) };
});

/** The stock stores the keys of earlier calls. */
export const stock = { left: new Map([["salt", 10]]), taken: new Set<string>() };
export const decrementsStockOnce = workflow("decrements stock once", async (ctx, item: string) => {
  await ctx.step("look", () => stock.left.get(item) ?? 0);
  await ctx.step("take", ({ idempotencyKey }) => {
    if (stock.taken.has(idempotencyKey)) return;
    stock.taken.add(idempotencyKey);
    stock.left.set(item, (stock.left.get(item) ?? 0) - 1);
  });
});

export const usesCtxNow = workflow("uses ctx.now", async (ctx, promisedAt: number) => {
  const ready = await ctx.listen<string>("ready", { timeout: "3 days" });
  const isLate = ready.timedOut || ctx.now() > promisedAt;
  return isLate ? await ctx.step("express", () => "by air") : await ctx.step("standard", () => "by sea");
});

export const usesCtxRandom = workflow("uses ctx.random", async (ctx, names: readonly string[]) => {
  const winner = names[Math.floor(ctx.random() * names.length)] ?? "none";
  await ctx.step(`notify ${winner}`, () => "notified");
  const second = await ctx.step("second", () => Math.floor(Math.random() * 1_000));
  const ticket = await ctx.step(
    "ticket",
    () => `${randomUUID()} ${randomInt(1_000)} ${randomBytes(4).toString("hex")}`,
  );
  return { winner, second, ticket, id: ctx.uuid() };
});

/** Its state is in its own journal. */
export const keepsStateInLoop = workflow("keeps state in loop", async (ctx, name: string) => {
  const visits = await ctx.loop<number, number>({
    name: "visits",
    state: 0,
    run: async (round, count) => {
      await round.step(`greet ${name}`, () => "hello");
      return count === 2 ? { kind: "break", value: count + 1 } : { kind: "continue", state: count + 1 };
    },
  });
  return visits;
});

export const dependsOnNoOrder = workflow("depends on no order", async (ctx, shops: readonly string[]) => {
  const prices = await Promise.all(shops.map((shop) => ctx.step(`ask ${shop}`, () => shop.length)));
  return shops.map((shop, index) => [shop, prices[index]]);
});

/** The mail and the note are sent in parallel, and both are awaited. */
export const awaitsMail = workflow("awaits mail", async (ctx, to: string) => {
  const { note } = await ctx.join("both", {
    mail: (c) =>
      c.step("mail", ({ idempotencyKey }) => effects.happened(`mail to ${to}`, { key: idempotencyKey, stays: true })),
    note: (c) => c.step("note", () => "noted"),
  });
  return note;
});

/** A failed charge fails the order. A failed label is handled, and the output shows it. */
export const failsWithFailedCharge = workflow("fails with failed charge", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }));
  const label = await ctx.tryStep("label", () => "printed");
  return { shipped: await ctx.step("ship", () => "shipped"), label: label.ok ? label.value : "by hand" };
});

export const rollsBackAll = workflow("rolls back all", async (ctx, to: string) => {
  await ctx.step("flight", ({ idempotencyKey }) => effects.happened(`flight to ${to}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`flight to ${to}`, { key: idempotencyKey }),
  });
  await ctx.sleep("1 day");
  await ctx.step("hotel", ({ idempotencyKey }) => effects.happened(`hotel in ${to}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`hotel in ${to}`, { key: idempotencyKey }),
  });
  await ctx.step("mail", ({ idempotencyKey }) => {
    effects.happened("confirmation", { key: idempotencyKey, stays: true });
  });
  await ctx.step("insurance", () => "insured");
  return "booked";
});

export const rollsBackWithKey = workflow("rolls back with key", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`charge ${cents}`, { key: idempotencyKey }),
  });
  const approved = await ctx.listen<boolean>("approve");
  if (!approved.value) throw new Error("not approved");
  return await ctx.step("ship", () => "shipped");
});

const bill = workflow("bill", async (ctx, cents: number) => {
  await ctx.sleep("2 hours");
  return await ctx.step("print", () => `${cents} cents`);
});
export const billing = bill;

/** The audit is a step, and the bill is a child run. */
export const auditsInStep = workflow("audits in step", async (ctx, name: string) => {
  await ctx.step("audit", ({ idempotencyKey }) => effects.happened(`${name} came`, { key: idempotencyKey }));
  const table = await ctx.awaitEvent<number>("table");
  return { table: table.value, bill: await ctx.child(bill, 1_200) };
});

/** Workflows with a fault that a plain test does not find. */
import { randomUUID } from "node:crypto";
import { workflow } from "pawl";
import { effectLog } from "pawl/testing";

export const effects = effectLog();

/** Without a key the service cannot recognize a repeated charge. */
export const chargesTwice = workflow("charges twice", async (ctx, cents: number) => {
  await ctx.step("charge", () => effects.happened(`charge ${cents}`));
  return await ctx.step("ship", ({ idempotencyKey }) => {
    effects.happened("parcel", { key: idempotencyKey });
    return "shipped";
  });
});

/** Each attempt has another key. */
export const newKeyPerAttempt = workflow("new key per attempt", async (ctx, cents: number) => {
  await ctx.step("charge", () => effects.happened(`charge ${cents}`, { key: crypto.randomUUID() }));
  await ctx.step("receipt", () => "printed");
});

/** Each attempt decrements the stock. */
export const stock = new Map([["salt", 10]]);
export const decrementsStock = workflow("decrements stock", async (ctx, item: string) => {
  await ctx.step("look", () => stock.get(item) ?? 0);
  await ctx.step("take", () => void stock.set(item, (stock.get(item) ?? 0) - 1));
});

/** Uses the system clock. */
export const usesSystemClock = workflow("uses system clock", async (ctx) => {
  const isLate = Date.now() > ctx.now() + 86_400_000;
  return isLate ? await ctx.step("express", () => "by air") : await ctx.step("standard", () => "by sea");
});

/** Uses Math.random. */
export const usesMathRandom = workflow("uses Math.random", async (ctx, names: readonly string[]) => {
  const winner = names[Math.floor(Math.random() * names.length)] ?? "none";
  await ctx.step(`notify ${winner}`, () => "notified");
  return winner;
});

/** A module of Node creates another name in each replay. */
export const usesRandomUuid = workflow("uses randomUUID", async (ctx) => {
  const id = randomUUID();
  await ctx.step("announce", () => "announced");
  return await ctx.step("end", () => id.length);
});

/** The map keeps state across replays. */
const seen = new Map<string, number>();
export const keepsStateOutside = workflow("keeps state outside", async (ctx, name: string) => {
  seen.set(name, (seen.get(name) ?? 0) + 1);
  for (const [visitor, times] of seen) await ctx.step(`greet ${visitor}, visit ${times}`, () => "hello");
  return await ctx.step("part", () => "goodbye");
});

/** The order depends on which shop answers first. */
export const dependsOnOrder = workflow("depends on order", async (ctx, shops: readonly string[]) => {
  const prices = new Map<string, number>();
  const ask = async (shop: string): Promise<void> => {
    prices.set(shop, await ctx.step(`ask ${shop}`, () => shop.length));
  };
  await Promise.all(shops.map(ask));
  return [...prices.keys()];
});

/** The mail is not awaited. */
export const doesNotAwaitMail = workflow("does not await mail", async (ctx, to: string) => {
  void ctx.step("mail", ({ idempotencyKey }) => effects.happened(`mail to ${to}`, { key: idempotencyKey }));
  return await ctx.step("note", () => "noted");
});

/** A failed payment is ignored. */
export const ignoresFailedCharge = workflow("ignores failed charge", async (ctx, cents: number) => {
  try {
    await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }));
  } catch {
    ctx.log("the charge failed");
  }
  return await ctx.step("ship", () => "shipped");
});

/** The flight has a rollback, the hotel has none. */
export const hasNoHotelRollback = workflow("has no hotel rollback", async (ctx, to: string) => {
  await ctx.step("flight", ({ idempotencyKey }) => effects.happened(`flight to ${to}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`flight to ${to}`, { key: idempotencyKey }),
  });
  await ctx.step("hotel", ({ idempotencyKey }) => effects.happened(`hotel in ${to}`, { key: idempotencyKey }));
  await ctx.step("insurance", () => "insured");
  return "booked";
});

/** The rollback has no key, so the money may be paid back twice. */
export const rollsBackWithoutKey = workflow("rolls back without key", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }), {
    rollback: () => effects.undone(`charge ${cents}`),
  });
  await ctx.step("ship", () => "shipped");
});

/** The workflow function writes the audit outside of a step, so each replay writes it again. */
export const auditsOutsideStep = workflow("audits outside step", async (ctx, name: string) => {
  effects.happened(`${name} came`);
  await ctx.step("serve", () => "served");
  await ctx.sleep("1 hour");
  return await ctx.step("bill", () => 12);
});

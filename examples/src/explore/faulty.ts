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
export const freshKey = workflow("fresh key", async (ctx, cents: number) => {
  await ctx.step("charge", () => effects.happened(`charge ${cents}`, { key: crypto.randomUUID() }));
  await ctx.step("receipt", () => "printed");
});

/** Each attempt decrements the stock. */
export const stock = new Map([["salt", 10]]);
export const countsDown = workflow("counts down", async (ctx, what: string) => {
  await ctx.step("look", () => stock.get(what) ?? 0);
  await ctx.step("take", () => void stock.set(what, (stock.get(what) ?? 0) - 1));
});

/** Uses the system clock. */
export const byTheClock = workflow("by the clock", async (ctx) => {
  const isLate = Date.now() > ctx.now() + 86_400_000;
  return isLate ? await ctx.step("express", () => "by air") : await ctx.step("standard", () => "by sea");
});

/** Uses Math.random. */
export const byLot = workflow("by lot", async (ctx, names: readonly string[]) => {
  const winner = names[Math.floor(Math.random() * names.length)] ?? "nobody";
  await ctx.step(`tell ${winner}`, () => "told");
  return winner;
});

/** A module of Node creates another name in each replay. */
export const namesItself = workflow("names itself", async (ctx) => {
  const id = randomUUID();
  await ctx.step("announce", () => "told");
  return await ctx.step("end", () => id.length);
});

/** The map keeps state across replays. */
const seen = new Map<string, number>();
export const remembers = workflow("remembers", async (ctx, who: string) => {
  seen.set(who, (seen.get(who) ?? 0) + 1);
  for (const [name, times] of seen) await ctx.step(`greet ${name}, visit ${times}`, () => "hello");
  return await ctx.step("part", () => "goodbye");
});

/** The order depends on which shop answers first. */
export const inOrderOfAnswer = workflow("in order of answer", async (ctx, shops: readonly string[]) => {
  const prices = new Map<string, number>();
  const ask = async (shop: string): Promise<void> => {
    prices.set(shop, await ctx.step(`ask ${shop}`, () => shop.length));
  };
  await Promise.all(shops.map(ask));
  return [...prices.keys()];
});

/** The mail is not awaited. */
export const forgetsTheMail = workflow("forgets the mail", async (ctx, to: string) => {
  void ctx.step("mail", ({ idempotencyKey }) => effects.happened(`mail to ${to}`, { key: idempotencyKey }));
  return await ctx.step("note", () => "noted");
});

/** A failed payment is ignored. */
export const swallows = workflow("swallows", async (ctx, cents: number) => {
  try {
    await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }));
  } catch {
    ctx.log("the charge failed");
  }
  return await ctx.step("ship", () => "shipped");
});

/** The flight has a rollback, the hotel has none. */
export const keepsTheHotel = workflow("keeps the hotel", async (ctx, to: string) => {
  await ctx.step("flight", ({ idempotencyKey }) => effects.happened(`flight to ${to}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`flight to ${to}`, { key: idempotencyKey }),
  });
  await ctx.step("hotel", ({ idempotencyKey }) => effects.happened(`hotel in ${to}`, { key: idempotencyKey }));
  await ctx.step("insurance", () => "insured");
  return "booked";
});

/** The rollback has no key, so the money may be paid back twice. */
export const refundsTwice = workflow("refunds twice", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }), {
    rollback: () => effects.undone(`charge ${cents}`),
  });
  await ctx.step("ship", () => "shipped");
});

/** The workflow function writes the audit outside of a step, so each replay writes it again. */
export const auditsInReplay = workflow("audits in replay", async (ctx, who: string) => {
  effects.happened(`${who} came`);
  await ctx.step("serve", () => "served");
  await ctx.sleep("1 hour");
  return await ctx.step("bill", () => 12);
});

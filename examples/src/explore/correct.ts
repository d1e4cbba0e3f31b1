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
export const keptKey = workflow("kept key", async (ctx, cents: number) => {
  const key = await ctx.step("key", () => crypto.randomUUID());
  await ctx.step("charge", () => effects.happened(`charge ${cents}`, { key }));
  return { key, at: new Date(ctx.now()) };
});

/** The stock stores the keys of earlier calls. */
export const stock = { left: new Map([["salt", 10]]), taken: new Set<string>() };
export const takesOnce = workflow("takes once", async (ctx, what: string) => {
  await ctx.step("look", () => stock.left.get(what) ?? 0);
  await ctx.step("take", ({ idempotencyKey }) => {
    if (stock.taken.has(idempotencyKey)) return;
    stock.taken.add(idempotencyKey);
    stock.left.set(what, (stock.left.get(what) ?? 0) - 1);
  });
});

export const byItsOwnTime = workflow("by its own time", async (ctx, promisedAt: number) => {
  const asked = await ctx.listen<string>("ready", { timeout: "3 days" });
  const isLate = asked.timedOut || ctx.now() > promisedAt;
  return isLate ? await ctx.step("express", () => "by air") : await ctx.step("standard", () => "by sea");
});

export const byKeptLot = workflow("by kept lot", async (ctx, names: readonly string[]) => {
  const winner = names[Math.floor(ctx.random() * names.length)] ?? "nobody";
  await ctx.step(`tell ${winner}`, () => "told");
  const second = await ctx.step("second", () => Math.floor(Math.random() * 1_000));
  const ticket = await ctx.step(
    "ticket",
    () => `${randomUUID()} ${randomInt(1_000)} ${randomBytes(4).toString("hex")}`,
  );
  return { winner, second, ticket, id: ctx.uuid() };
});

/** Its state is in its own journal. */
export const countsVisits = workflow("counts visits", async (ctx, who: string) => {
  const visits = await ctx.loop<number, number>({
    name: "visits",
    state: 0,
    run: async (round, count) => {
      await round.step(`greet ${who}`, () => "hello");
      return count === 2 ? { kind: "break", value: count + 1 } : { kind: "continue", state: count + 1 };
    },
  });
  return visits;
});

export const inOrderOfAsking = workflow("in order of asking", async (ctx, shops: readonly string[]) => {
  const prices = await Promise.all(shops.map((shop) => ctx.step(`ask ${shop}`, () => shop.length)));
  return shops.map((shop, index) => [shop, prices[index]]);
});

/** The mail and the note are sent in parallel, and both are awaited. */
export const sendsTheMail = workflow("sends the mail", async (ctx, to: string) => {
  const { note } = await ctx.join("both", {
    mail: (c) =>
      c.step("mail", ({ idempotencyKey }) => effects.happened(`mail to ${to}`, { key: idempotencyKey, stays: true })),
    note: (c) => c.step("note", () => "noted"),
  });
  return note;
});

/** A failed charge fails the order. A failed label is handled, and the output shows it. */
export const minds = workflow("minds", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }));
  const label = await ctx.tryStep("label", () => "printed");
  return { shipped: await ctx.step("ship", () => "shipped"), label: label.ok ? label.value : "by hand" };
});

export const givesAllBack = workflow("gives all back", async (ctx, to: string) => {
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

export const refundsOnce = workflow("refunds once", async (ctx, cents: number) => {
  await ctx.step("charge", ({ idempotencyKey }) => effects.happened(`charge ${cents}`, { key: idempotencyKey }), {
    rollback: (_, { idempotencyKey }) => effects.undone(`charge ${cents}`, { key: idempotencyKey }),
  });
  const approved = await ctx.listen<boolean>("approve");
  if (!approved.value) throw new Error("nobody approved");
  return await ctx.step("ship", () => "shipped");
});

const bill = workflow("bill", async (ctx, cents: number) => {
  await ctx.sleep("2 hours");
  return await ctx.step("print", () => `${cents} cents`);
});
export const billing = bill;

/** The audit is a step, and the bill is a child run. */
export const audits = workflow("audits", async (ctx, who: string) => {
  await ctx.step("audit", ({ idempotencyKey }) => effects.happened(`${who} came`, { key: idempotencyKey }));
  const table = await ctx.awaitEvent<number>("table");
  return { table: table.value, bill: await ctx.child(bill, 1_200) };
});

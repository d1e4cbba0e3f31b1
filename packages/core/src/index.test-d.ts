import { expectTypeOf } from "vitest";
import * as z from "zod";
import {
  type ChildHandle,
  type Ctx,
  declareWorkflow,
  type MemoryTx,
  message,
  type PostgresTx,
  type Received,
  type RollbackInfo,
  type StepFailure,
  type StepInfo,
  type TimedOut,
  topic,
  type Workflow,
  workflow,
} from "./index.ts";

/** Types that the compiler must infer or reject in workflow code. Checked by `npm run check`; nothing here is executed. */

const approve = message<{ by: string }>("approve");
const checked = message("checked", z.object({ n: z.number() }));
const price = topic<number>("price");
const quotes = topic("quotes", { schema: z.object({ at: z.date() }), consume: "all" });
const order = workflow("order", async (_, input: { id: string }) => ({ total: input.id.length }));
const nothing = workflow("nothing", async () => {});
const schemed = workflow(
  "schemed",
  { input: z.object({ id: z.string(), n: z.number().default(1) }), output: z.object({ ok: z.boolean() }) },
  async (_, input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string; n: number }>();
    return { ok: input.n > 0 };
  },
);

// A workflow infers its input and output.
expectTypeOf(order).toEqualTypeOf<Workflow<{ id: string }, { total: number }>>();
expectTypeOf(nothing).toEqualTypeOf<Workflow<unknown, void>>();
expectTypeOf(schemed).toEqualTypeOf<Workflow<{ id: string; n: number }, { ok: boolean }>>();
const second = workflow("order", { version: 2 }, async (_, input: { id: string }) => input.id);
expectTypeOf(second).toEqualTypeOf<Workflow<{ id: string }, string>>();
const half = workflow("half", { input: z.object({ n: z.number() }) }, async (_, { n }) => n);
expectTypeOf(half).toEqualTypeOf<Workflow<{ n: number }, number>>();

// @ts-expect-error A workflow's function is asynchronous.
workflow("sync", () => 1);
// @ts-expect-error An output that does not match its schema.
workflow("wrong", { output: z.object({ ok: z.boolean() }) }, async () => ({ ok: "yes" }));
// @ts-expect-error An unknown option.
workflow("wrong", { retries: 3 }, async () => 1);

export async function steps(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.transaction("a", (tx) => tx.prepare("SELECT 1").get())).toEqualTypeOf<unknown>();
  expectTypeOf(await ctx.transaction("a", (tx: MemoryTx) => tx.keys().length)).toEqualTypeOf<number>();
  expectTypeOf(await ctx.transaction("a", async (tx: PostgresTx) => (await tx.query("")).rowCount)).toEqualTypeOf<
    number | null
  >();
  // @ts-expect-error A transaction function cannot commit.
  await ctx.transaction("a", (tx) => tx.commit());
  const held = await ctx.resource("db", { acquire: async () => ({ id: 1 }), release: ({ id }) => id });
  expectTypeOf(held.value).toEqualTypeOf<{ id: number }>();
  expectTypeOf(await ctx.step("a", () => 1)).toEqualTypeOf<number>();
  expectTypeOf(await ctx.step("a", async () => "x")).toEqualTypeOf<string>();
  expectTypeOf(await ctx.step("a", () => {})).toEqualTypeOf<void>();
  await ctx.step("a", (info) => {
    expectTypeOf(info).toEqualTypeOf<StepInfo>();
    expectTypeOf(info.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(info.attempt).toEqualTypeOf<number>();
  });
  await ctx.step("a", () => 1, {
    timeout: "1 s",
    retry: false,
    ephemeral: true,
    idempotencyKey: "k",
    retryOnTimeout: true,
    rollback: (value, info) => {
      expectTypeOf(value).toEqualTypeOf<number>();
      expectTypeOf(info).toEqualTypeOf<RollbackInfo>();
    },
  });
  await ctx.step("a", async (info) => ({ attempt: info.attempt }), {
    rollback: { run: ({ attempt }) => expectTypeOf(attempt).toEqualTypeOf<number>(), retry: false, timeout: "1 s" },
  });
  // @ts-expect-error A rollback for a value that the step does not return.
  await ctx.step("a", () => 1, { rollback: (value: string) => value });
  await ctx.tryStep("a", () => 1, {
    catch: ["rollback"],
    rollback: (value) => expectTypeOf(value).toEqualTypeOf<number>(),
  });
  expectTypeOf(ctx.rollbackCheckpoint("paid")).toEqualTypeOf<Promise<void>>();
  await ctx.step("a", () => 1, {
    retry: { maxAttempts: 3, shouldRetry: (error, attempt) => error.name === "E" || attempt < 2 },
  });

  const tried = await ctx.tryStep("a", async () => 1);
  if (tried.ok) expectTypeOf(tried.value).toEqualTypeOf<number>();
  else expectTypeOf(tried.failure).toEqualTypeOf<StepFailure>();
  // @ts-expect-error Only a successful result has a value.
  tried.value;
  // @ts-expect-error A step has a body.
  await ctx.step("a");
  // @ts-expect-error A step has a name.
  await ctx.step(() => 1);
  // @ts-expect-error Retries are an object or false.
  await ctx.step("a", () => 1, { retry: true });
  // @ts-expect-error An unknown option.
  await ctx.step("a", () => 1, { retries: 3 });
}

export async function branches(ctx: Ctx): Promise<void> {
  const joined = await ctx.join("j", { a: { run: (c) => c.step("a", () => 1) }, find: async (c) => c.runId });
  expectTypeOf(joined).toEqualTypeOf<{ readonly a: number; readonly find: string }>();
  const listed = await ctx.join("j", [
    { name: "a", run: (c) => c.step("a", () => 1) },
    { name: "b", run: async (c) => c.runId },
  ]);
  expectTypeOf(listed).toEqualTypeOf<{ readonly a: number; readonly b: string }>();
  const raced = await ctx.race("r", [
    { name: "work", run: (c) => c.step("a", () => 1) },
    { name: "timeout", run: (c) => c.sleep(5) },
  ]);
  if (raced.winner === "work") expectTypeOf(raced.value).toEqualTypeOf<number>();
  else expectTypeOf(raced.winner).toEqualTypeOf<"timeout">();
  expectTypeOf(await ctx.map("m", ["a"], (c, item, index) => c.step(item, () => index))).toEqualTypeOf<
    readonly number[]
  >();
  const settled = await ctx.map("m", [1] as const, (_, item) => item, { concurrency: 2, failures: "return" });
  for (const each of settled) if (each.ok) expectTypeOf(each.value).toEqualTypeOf<1>();
  // @ts-expect-error A branch has a function.
  await ctx.join("j", { a: 1 });
  // @ts-expect-error A branch of a list has a name.
  await ctx.race("r", [{ run: (c: Ctx) => c.runId }]);
}

export async function waiting(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.sleep("1 day")).toEqualTypeOf<void>();
  expectTypeOf(await ctx.sleepUntil(new Date())).toEqualTypeOf<void>();
  // @ts-expect-error A sleep has a duration.
  await ctx.sleep();
  // @ts-expect-error A Date is not a duration.
  await ctx.sleep(new Date());

  expectTypeOf(await ctx.listen("m")).toEqualTypeOf<Received<unknown>>();
  expectTypeOf(await ctx.listen<string>("m")).toEqualTypeOf<Received<string>>();
  expectTypeOf(await ctx.listen(approve)).toEqualTypeOf<Received<{ by: string }>>();
  expectTypeOf(await ctx.listen(checked)).toEqualTypeOf<Received<{ n: number }>>();
  const maybe = await ctx.listen(approve, { timeout: "1 day" });
  expectTypeOf(maybe).toEqualTypeOf<Received<{ by: string }> | TimedOut>();
  // @ts-expect-error The wait may time out and have no value.
  maybe.value;
  if (!maybe.timedOut) expectTypeOf(maybe.value.by).toEqualTypeOf<string>();

  const many = await ctx.listenN(approve, 3, { timeout: 10 });
  expectTypeOf(many.messages).toEqualTypeOf<ReadonlyArray<Received<{ by: string }>>>();
  expectTypeOf(many.timedOut).toEqualTypeOf<boolean>();

  expectTypeOf((await ctx.awaitEvent(price)).value).toEqualTypeOf<number>();
  expectTypeOf((await ctx.awaitEvent(quotes)).value).toEqualTypeOf<{ at: Date }>();
  expectTypeOf(await ctx.awaitEvent(price, { timeout: 1 })).toEqualTypeOf<Received<number> | TimedOut>();
  const later = await ctx.listen(approve, { until: new Date() });
  expectTypeOf(later).toEqualTypeOf<Received<{ by: string }> | TimedOut>();
  await ctx.listenN(approve, 3, { until: 0 });
  // @ts-expect-error Either a timeout or a time.
  await ctx.listen(approve, { until: 0, timeout: 1 });
  // @ts-expect-error A topic is not a message.
  await ctx.listen(price);
  // @ts-expect-error A message is not a topic.
  await ctx.awaitEvent(approve);
}

export async function selecting(ctx: Ctx, child: ChildHandle<{ total: number }>): Promise<void> {
  const won = await ctx.select({
    yes: { message: approve },
    text: { message: "text" },
    news: { event: price },
    done: { child },
    late: { after: "1 day" },
    fixed: { until: new Date() },
  });
  expectTypeOf(won.key).toEqualTypeOf<"yes" | "text" | "news" | "done" | "late" | "fixed">();
  switch (won.key) {
    case "yes":
      expectTypeOf(won.value).toEqualTypeOf<{ by: string }>();
      break;
    case "text":
      expectTypeOf(won.value).toEqualTypeOf<unknown>();
      break;
    case "news":
      expectTypeOf(won.value).toEqualTypeOf<number>();
      break;
    case "done":
      expectTypeOf(won.value).toEqualTypeOf<{ total: number }>();
      break;
    case "late":
    case "fixed":
      expectTypeOf(won.value).toEqualTypeOf<undefined>();
      break;
  }
  // @ts-expect-error An arm is a message, an event, a child or a time.
  await ctx.select({ a: { signal: "x" } });
  // @ts-expect-error The arm does not exist.
  if (won.key === "no") return;
}

export async function children(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.child(order, { id: "a" })).toEqualTypeOf<{ total: number }>();
  expectTypeOf(await ctx.child(order, { id: "a" }, { propagateFailure: true })).toEqualTypeOf<{ total: number }>();
  expectTypeOf(await ctx.child(order, { id: "a" }, { propagateFailure: false })).toEqualTypeOf<
    { total: number } | undefined
  >();
  const handle = await ctx.startChild(order, { id: "a" }, { onParentClose: "abandon", tags: ["t"] });
  expectTypeOf(handle).toEqualTypeOf<ChildHandle<{ total: number }>>();
  expectTypeOf(await handle.result()).toEqualTypeOf<{ total: number }>();
  expectTypeOf(await ctx.continueAs({ any: "input" })).toEqualTypeOf<never>();
  // @ts-expect-error The child's input.
  await ctx.child(order, { id: 1 });
  // @ts-expect-error The child's input is missing.
  await ctx.child(order);
  // @ts-expect-error The policy does not exist.
  await ctx.startChild(order, { id: "a" }, { onParentClose: "terminate" });
  // @ts-expect-error The other workflow's input.
  await ctx.continueAs(order, { id: 1 });
}

export async function posting(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.send("r", approve, { by: "ann" })).toEqualTypeOf<void>();
  expectTypeOf(
    await ctx.emit(price, 1, { deliver: "afterWait", consume: "all", expireAfter: "1 day" }),
  ).toEqualTypeOf<void>();
  await ctx.send("r", "untyped", { anything: true });
  // @ts-expect-error The message's value.
  await ctx.send("r", approve, { by: 1 });
  // @ts-expect-error The topic's value.
  await ctx.emit(price, "1");
  // @ts-expect-error The policy does not exist.
  await ctx.emit(price, 1, { deliver: "later" });
  expectTypeOf(ctx.now()).toEqualTypeOf<number>();
  expectTypeOf(ctx.random()).toEqualTypeOf<number>();
  expectTypeOf(ctx.uuid()).toEqualTypeOf<string>();
  expectTypeOf(ctx.log("text", { n: 1 })).toEqualTypeOf<void>();
  // @ts-expect-error The properties of ctx are read-only.
  ctx.runId = "other";
}

export async function continuing(): Promise<void> {
  workflow("counter", async (ctx, input: { n: number }): Promise<number> => {
    if (input.n < 3) await ctx.continueAs({ n: input.n + 1 });
    await ctx.try("inner", (inner) => inner.continueAs({ n: 1 }));
    await ctx.continueAs(order, { id: "a" });
    await ctx.continueAs(declared, "text");
    // @ts-expect-error The input has another type.
    await ctx.continueAs("wrong type");
    // @ts-expect-error The input has another type, also in a branch.
    await ctx.join("j", { a: (c) => c.continueAs({ id: "a" }) });
    // @ts-expect-error The input of the other workflow.
    await ctx.continueAs(order, { id: 1 });
    return await helper(ctx);
  });
  workflow("schemed", { input: z.object({ n: z.number() }) }, async (ctx, { n }) => {
    // @ts-expect-error The input has another type.
    if (n > 0) await ctx.continueAs({ n: "1" });
    await ctx.continueAs({ n: n + 1 });
  });
  workflow("annotated", async (ctx: Ctx, input: { n: number }) => await ctx.step("a", () => input.n));
  workflow("none", async (ctx) => await ctx.continueAs(undefined));
  const helper = async (ctx: Ctx): Promise<number> => await ctx.step("a", () => 1);
}

const declared = declareWorkflow<string, number>("declared");

export async function declaredChildren(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.child(declared, "text")).toEqualTypeOf<number>();
  expectTypeOf(await ctx.startChild(declared, "text")).toEqualTypeOf<ChildHandle<number>>();
  expectTypeOf(await ctx.child(nothing)).toEqualTypeOf<void>();
  expectTypeOf(await ctx.startChild(nothing)).toEqualTypeOf<ChildHandle<void>>();
  // @ts-expect-error The input of the declared workflow.
  await ctx.child(declared, 1);
  // @ts-expect-error The declared workflow needs an input.
  await ctx.child(declared);
  // @ts-expect-error The declared workflow needs an input.
  await ctx.startChild(declared);
}

export async function endless(ctx: Ctx): Promise<void> {
  const never = ctx.loop({ name: "forever", run: async (c) => c.sleep("1 day") });
  expectTypeOf(never).toEqualTypeOf<Promise<never>>();
  // @ts-expect-error An iteration returns a `Loop` step, or nothing.
  await ctx.loop({ name: "wrong", run: async () => 5 });
}

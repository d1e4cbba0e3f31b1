/** What the compiler must infer and refuse. Checked by `npm run check`; nothing here is executed. */
import { expectTypeOf } from "vitest";
import { z } from "zod";
import {
  type ChildHandle,
  type Client,
  type Ctx,
  checkReplay,
  createClient,
  createEngine,
  declareWorkflow,
  diff,
  type EmitOutcome,
  type EngineEvent,
  ERRORS,
  type ErrorCode,
  type JournalDiff,
  type JournalRecord,
  type MemoryTx,
  type Migration,
  memoryStore,
  message,
  PawlError,
  type PostgresTx,
  type Received,
  type RecoveryReport,
  type ReplayReport,
  type Rewound,
  type RunHandle,
  type RunSummary,
  type SendOutcome,
  type Status,
  type StepFailure,
  type StepInfo,
  type TimedOut,
  topic,
  type Workflow,
  workflow,
} from "./index.ts";

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
// @ts-expect-error An output that does not fit its schema.
workflow("wrong", { output: z.object({ ok: z.boolean() }) }, async () => ({ ok: "yes" }));
// @ts-expect-error An option that there is not.
workflow("wrong", { retries: 3 }, async () => 1);

export async function steps(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.transaction("a", (tx) => tx.prepare("SELECT 1").get())).toEqualTypeOf<unknown>();
  expectTypeOf(await ctx.transaction("a", (tx: MemoryTx) => tx.keys().length)).toEqualTypeOf<number>();
  expectTypeOf(await ctx.transaction("a", async (tx: PostgresTx) => (await tx.query("")).rowCount)).toEqualTypeOf<
    number | null
  >();
  // @ts-expect-error A transaction can't be committed by its body.
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
      expectTypeOf(info).toEqualTypeOf<StepInfo>();
    },
  });
  await ctx.step("a", async (info) => ({ attempt: info.attempt }), {
    rollback: { run: ({ attempt }) => expectTypeOf(attempt).toEqualTypeOf<number>(), retry: false, timeout: "1 s" },
  });
  // @ts-expect-error A rollback for what the step does not return.
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
  // @ts-expect-error The value is there only when it is ok.
  tried.value;
  // @ts-expect-error A step has a body.
  await ctx.step("a");
  // @ts-expect-error A step has a name.
  await ctx.step(() => 1);
  // @ts-expect-error Retries are an object or false.
  await ctx.step("a", () => 1, { retry: true });
  // @ts-expect-error An option that there is not.
  await ctx.step("a", () => 1, { retries: 3 });
}

export async function waiting(ctx: Ctx): Promise<void> {
  expectTypeOf(await ctx.sleep("1 day")).toEqualTypeOf<void>();
  expectTypeOf(await ctx.sleepUntil(new Date())).toEqualTypeOf<void>();
  // @ts-expect-error A sleep has a duration.
  await ctx.sleep();
  // @ts-expect-error A Date is no duration.
  await ctx.sleep(new Date());

  expectTypeOf(await ctx.listen("m")).toEqualTypeOf<Received<unknown>>();
  expectTypeOf(await ctx.listen<string>("m")).toEqualTypeOf<Received<string>>();
  expectTypeOf(await ctx.listen(approve)).toEqualTypeOf<Received<{ by: string }>>();
  expectTypeOf(await ctx.listen(checked)).toEqualTypeOf<Received<{ n: number }>>();
  const maybe = await ctx.listen(approve, { timeout: "1 day" });
  expectTypeOf(maybe).toEqualTypeOf<Received<{ by: string }> | TimedOut>();
  // @ts-expect-error It may be a timeout, which has no value.
  maybe.value;
  if (!maybe.timedOut) expectTypeOf(maybe.value.by).toEqualTypeOf<string>();

  const many = await ctx.listenN(approve, 3, { timeout: 10 });
  expectTypeOf(many.messages).toEqualTypeOf<ReadonlyArray<Received<{ by: string }>>>();
  expectTypeOf(many.timedOut).toEqualTypeOf<boolean>();

  expectTypeOf((await ctx.awaitEvent(price)).value).toEqualTypeOf<number>();
  expectTypeOf((await ctx.awaitEvent(quotes)).value).toEqualTypeOf<{ at: Date }>();
  expectTypeOf(await ctx.awaitEvent(price, { timeout: 1 })).toEqualTypeOf<Received<number> | TimedOut>();
  // @ts-expect-error A topic is no message.
  await ctx.listen(price);
  // @ts-expect-error A message is no topic.
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
  // @ts-expect-error No such arm.
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
  // @ts-expect-error No such policy.
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
  // @ts-expect-error No such policy.
  await ctx.emit(price, 1, { deliver: "later" });
  expectTypeOf(ctx.now()).toEqualTypeOf<number>();
  expectTypeOf(ctx.random()).toEqualTypeOf<number>();
  expectTypeOf(ctx.uuid()).toEqualTypeOf<string>();
  expectTypeOf(ctx.log("text", { n: 1 })).toEqualTypeOf<void>();
  // @ts-expect-error What a ctx is can't be changed.
  ctx.runId = "other";
}

export async function engines(): Promise<void> {
  const engine = await createEngine({ store: memoryStore(), workflows: [order, nothing, schemed], lease: "10 s" });
  const run = await engine.start(order, { id: "a" }, { id: "r", onConflict: "fail", tags: ["t"], delay: "1 s" });
  expectTypeOf(run).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(await run.result()).toEqualTypeOf<{ total: number }>();
  expectTypeOf(await run.status()).toEqualTypeOf<Status>();
  expectTypeOf(await run.send(approve, { by: "ann" })).toEqualTypeOf<SendOutcome>();
  expectTypeOf(await engine.emit(price, 1)).toEqualTypeOf<EmitOutcome>();
  expectTypeOf(await engine.get("r")).toEqualTypeOf<RunSummary | null>();
  expectTypeOf(await engine.cancel("r", "why")).toEqualTypeOf<boolean>();
  expectTypeOf(await engine.recover()).toEqualTypeOf<RecoveryReport>();
  expectTypeOf(engine.run("r")).toEqualTypeOf<RunHandle<unknown>>();
  await engine.start(nothing, undefined);
  await engine.start(schemed, { id: "a", n: 2 });
  // @ts-expect-error The workflow's input.
  await engine.start(order, { id: 1 });
  // @ts-expect-error The workflow's input is missing.
  await engine.start(order);
  // @ts-expect-error The message's value.
  await run.send(approve, {});
  // @ts-expect-error No such status.
  await engine.list({ status: ["done"] });
  // @ts-expect-error An engine has a store.
  await createEngine({ workflows: [order] });
  // @ts-expect-error An option that there is not.
  await createEngine({ store: memoryStore(), threads: 3 });

  const [started, sent] = await engine.submitBatch([
    { kind: "resume", runId: "r", opId: "o" },
    { kind: "letter", letterId: "l", post: null },
  ]);
  expectTypeOf(started.kind).toEqualTypeOf<"done" | "compensating" | "ended" | "notFound" | "refused">();
  expectTypeOf(sent.kind).toEqualTypeOf<"replayed" | "removed" | "notFound">();
}

export function listening(engine: Awaited<ReturnType<typeof createEngine>>): void {
  const off = engine.on("run.completed", (event) => {
    expectTypeOf(event.kind).toEqualTypeOf<"run.completed">();
    expectTypeOf(event.error).toEqualTypeOf<Error | null>();
  });
  expectTypeOf(off).toEqualTypeOf<() => void>();
  engine.on("run.started", (event) => expectTypeOf(event.runId).toEqualTypeOf<string>());
  engine.on("record", (event) => expectTypeOf(event.record).toEqualTypeOf<JournalRecord>());
  engine.on("store.down", (event) => expectTypeOf(event).toExtend<EngineEvent>());
  // @ts-expect-error No such event.
  engine.on("run.ended", () => {});
  // @ts-expect-error A record has no error.
  engine.on("record", (event) => event.error);
}

export function errors(error: PawlError): void {
  expectTypeOf(error.code).toEqualTypeOf<ErrorCode>();
  expectTypeOf(ERRORS.RUN_NOT_FOUND.status).toEqualTypeOf<404>();
  // @ts-expect-error No such code.
  new PawlError("NO_SUCH_CODE", "text");
}

export async function history(): Promise<void> {
  const engine = await createEngine({ store: memoryStore(), workflows: [order] });
  const run = engine.run<{ total: number }>("r");
  expectTypeOf(run.rewind("a", { children: "detach", messages: "drop", by: "ann" })).resolves.toEqualTypeOf<Rewound>();
  expectTypeOf(engine.retry("r", { id: "x", why: "again" })).resolves.toEqualTypeOf<Rewound>();
  expectTypeOf(engine.fork<{ total: number }>("r", null, { patch: { a: 1 } })).resolves.toEqualTypeOf<typeof run>();
  expectTypeOf(engine.migrate("r", 2, { a: "b", c: null }, { dryRun: true })).resolves.toEqualTypeOf<Migration>();
  expectTypeOf(diff(await run.journal(), await run.journal())).toEqualTypeOf<JournalDiff>();
  expectTypeOf(
    checkReplay({ store: memoryStore(), workflows: [order, nothing] }),
  ).resolves.toEqualTypeOf<ReplayReport>();
  // @ts-expect-error a place is a location or a seq
  await engine.rewind("r", null);
  // @ts-expect-error what becomes of children is one of two things
  await engine.rewind("r", 0, { children: "keep" });
}

export async function clients(): Promise<void> {
  const client = await createClient({ store: memoryStore(), poll: "2 s" });
  expectTypeOf(client).toEqualTypeOf<Client>();
  const declared = declareWorkflow<{ id: string }, number>("order", { version: 2 });
  expectTypeOf(await client.start(declared, { id: "a" })).toEqualTypeOf<RunHandle<number>>();
  expectTypeOf(await client.start(order, { id: "a" })).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(await (await createEngine({ store: memoryStore() })).start(declared, { id: "a" })).toEqualTypeOf<
    RunHandle<number>
  >();
  const byHalf = declareWorkflow("half", { input: z.object({ n: z.number() }) });
  expectTypeOf(await client.start(byHalf, { n: 1 })).toEqualTypeOf<RunHandle<unknown>>();
  // @ts-expect-error An input that does not fit what was declared.
  await client.start(declared, { id: 1 });
  // @ts-expect-error A client works on nothing.
  await createClient({ store: memoryStore(), workflows: [order] });
  // @ts-expect-error A client has nothing to recover.
  await client.recover();
  // @ts-expect-error What is declared has no code: no engine can work on it.
  await createEngine({ store: memoryStore(), workflows: [declared] });
}

import { expectTypeOf } from "vitest";
import * as z from "zod";
import {
  type Client,
  checkReplay,
  createClient,
  createEngine,
  type Documents,
  declareWorkflow,
  diff,
  type EmitOutcome,
  type EngineEvent,
  ERRORS,
  type ErrorCode,
  type JournalDiff,
  type JournalRecord,
  type Migration,
  memoryStore,
  message,
  PawlError,
  type RecoveryReport,
  type ReplayReport,
  type Rewound,
  type RunHandle,
  type RunSummary,
  type SendOutcome,
  type Status,
  topic,
  workflow,
} from "../index.ts";

/** What the compiler must infer and refuse, where engines and clients are used. Checked by `npm run check`; nothing here is executed. */

const approve = message<{ by: string }>("approve");
const price = topic<number>("price");
const order = workflow("order", async (_, input: { id: string }) => ({ total: input.id.length }));
const nothing = workflow("nothing", async () => {});
const optional = workflow("optional", async (_, input?: { n: number }) => input?.n ?? 0);
const schemed = workflow(
  "schemed",
  { input: z.object({ id: z.string(), n: z.number().default(1) }), output: z.object({ ok: z.boolean() }) },
  async (_, input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string; n: number }>();
    return { ok: input.n > 0 };
  },
);

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
  expectTypeOf(engine.run(order, "r")).toEqualTypeOf<RunHandle<{ total: number }>>();
  // @ts-expect-error A handle has an id.
  engine.run(order);
  await engine.start(nothing, undefined);
  expectTypeOf(await engine.start(nothing)).toEqualTypeOf<RunHandle<void>>();
  await engine.start(optional);
  await engine.start(optional, { n: 1 }, { id: "r" });
  // @ts-expect-error The input has another type.
  await engine.start(optional, "text");
  // @ts-expect-error The workflow needs an input.
  await engine.start(schemed);
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
  expectTypeOf(started.kind).toEqualTypeOf<"done" | "compensating" | "ended" | "notFound" | "refused" | "requested">();
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
  expectTypeOf(client.documents).toEqualTypeOf<Documents>();
  expectTypeOf(client.restart).toBeFunction();
  await client.start(nothing);
  expectTypeOf(client.run(declared, "r")).toEqualTypeOf<RunHandle<number>>();
  // @ts-expect-error The declared workflow needs an input.
  await client.start(declared);
  const byHalf = declareWorkflow("half", { input: z.object({ n: z.number() }) });
  expectTypeOf(await client.start(byHalf, { n: 1 })).toEqualTypeOf<RunHandle<unknown>>();
  // @ts-expect-error An input that does not match the declaration.
  await client.start(declared, { id: 1 });
  // @ts-expect-error A client works on nothing.
  await createClient({ store: memoryStore(), workflows: [order] });
  // @ts-expect-error A client has nothing to recover.
  await client.recover();
  // @ts-expect-error What is declared has no code: no engine can work on it.
  await createEngine({ store: memoryStore(), workflows: [declared] });
}

export async function generationsAndLimits(): Promise<void> {
  const engine = await createEngine({ store: memoryStore(), workflows: [order] });
  const client = await createClient({ store: memoryStore() });
  const options = { id: "o", onConflict: "restart", deadline: new Date(), ttl: "1 hour" } as const;
  expectTypeOf(await engine.start(order, { id: "a" }, options)).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(engine.run(order, "o", { generation: 0 })).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(client.run(order, "o", { generation: 0 })).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(engine.run("o", { generation: 0 })).toEqualTypeOf<RunHandle<unknown>>();
  expectTypeOf((await engine.explain("o")).deadlineAt).toEqualTypeOf<number | null>();
  workflow("parent", async (ctx) => {
    expectTypeOf(await ctx.child(order, { id: "a" }, { deadline: "1 hour", ttl: 500 })).toEqualTypeOf<{
      total: number;
    }>();
    // @ts-expect-error A deadline is a duration or a Date.
    await ctx.startChild(order, { id: "a" }, { deadline: true });
  });
  // @ts-expect-error A conflict is handled in one of three ways.
  await engine.start(order, { id: "a" }, { onConflict: "replace" });
  // @ts-expect-error A ttl is a duration.
  await engine.start(order, { id: "a" }, { ttl: new Date() });
  // @ts-expect-error A generation is a number.
  engine.run("o", { generation: "0" });
}

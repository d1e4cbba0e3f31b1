import { inspect } from "node:util";
import * as pawl from "pawl";
import {
  type Client,
  type Ctx,
  createClient,
  createEngine,
  declareWorkflow,
  type Engine,
  exportRun,
  Loop,
  memoryStore,
  message,
  type RunHandle,
  type Store,
  seededRandom,
  topic,
  workflow,
} from "pawl";
import * as host from "pawl/host";
import * as postgres from "pawl/postgres";
import * as redis from "pawl/redis";
import * as sqlite from "pawl/sqlite";
import * as testing from "pawl/testing";
import { bpmnRefs } from "./bpmn-refs.ts";
import { build, type Recipe } from "./recipe.ts";

/** A call that workflow code makes. */
export interface CtxCall {
  readonly method: string;
  readonly args: readonly Recipe[];
}

export type Observe = (call: CtxCall, outcome: Promise<unknown>) => void;

const refuses = {
  "~standard": { version: 1, vendor: "fuzz", validate: () => ({ issues: [{ message: "no" }] }) },
} as const;
const accepts = {
  "~standard": { version: 1, vendor: "fuzz", validate: (value: unknown) => ({ value }) },
} as const;
const asynchronous = {
  "~standard": { version: 1, vendor: "fuzz", validate: async (value: unknown) => ({ value }) },
} as const;
const throws = {
  "~standard": {
    version: 1,
    vendor: "fuzz",
    validate: () => {
      throw new Error("no schema");
    },
  },
} as const;

const quick = workflow("quick", async (ctx, input: unknown) => await ctx.step("step", () => input));
const waits = workflow("waits", async (ctx) => {
  await ctx.step("step", () => 1);
  return (await ctx.listen("wait")).value;
});
const fails = workflow("fails", { retry: false }, async (ctx) => {
  await ctx.step("step", () => 1);
  throw new pawl.CriticalError("as intended");
});
const sendsAway = workflow("sendsAway", async (ctx) => {
  await ctx.send("nobody", "m", 1);
  return await ctx.step("sent", () => 1);
});
export const canary = workflow("canary", async (ctx, input: number) => {
  const doubled = await ctx.step("double", () => input * 2);
  await ctx.sleep(1);
  return await ctx.step("add", () => doubled + 1);
});

/** Makes calls of `ctx`, and does not wait for them: many wait for something that never comes. */
function callerOf(refs: Refs, observe: Observe) {
  return workflow("caller", async (ctx: Ctx, { calls }: { readonly calls: readonly CtxCall[] }) => {
    for (const call of calls) {
      const method = (ctx as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[call.method];
      observe(
        call,
        new Promise((resolve) =>
          resolve(
            method?.apply(
              ctx,
              call.args.map((recipe) => build(recipe, refs)),
            ),
          ),
        ),
      );
    }
    await ctx.step("end", () => 1);
  });
}

export type Refs = Readonly<Record<string, () => unknown>>;

/** One engine with runs in every state, and everything that calls may refer to. */
export interface FuzzedWorld {
  readonly engine: Engine;
  readonly refs: Refs;
  readonly log: readonly string[];
  startCalls(calls: readonly CtxCall[]): Promise<RunHandle>;
  /** The ctx of a run. */
  ctx(): Promise<Ctx>;
  close(): Promise<void>;
}

export async function openWorld(connect: () => Store, observe: Observe): Promise<FuzzedWorld> {
  const log: string[] = [];
  const refs: Record<string, () => unknown> = { ...constants() };
  const caller = callerOf(refs, observe);
  const settings = {
    poll: "1 s",
    lease: "1 hour",
    log: (level: string, text: string, fields: object) => log.push(`${level} ${text} ${inspect(fields, { depth: 2 })}`),
  } as const;
  const engine = await createEngine({
    ...settings,
    store: connect(),
    workflows: [quick, waits, fails, sendsAway, canary, caller],
  });
  engine.on("engine.broken", ({ error }) => log.push(`error broken ${String((error as Error)?.stack ?? error)}`));
  const { lease: _, ...forClient } = settings;
  const client = await createClient({ ...forClient, store: connect() });
  const processes = await bpmnRefs(engine);
  Object.assign(refs, await stateRefs(engine, client), processes.refs);
  const hostedRun = host.runWorkflow("hosted", waits, undefined, host.memoryDriver(), { log: settings.log });
  await hostedRun.result;
  const test = await testing.testEngine({ workflows: [quick, waits], log: settings.log });
  Object.assign(refs, { "hosted run": () => hostedRun, "test engine": () => test });
  return {
    engine,
    refs,
    log,
    startCalls: (calls) => engine.start(caller, { calls }),
    ctx: async () => {
      const seen: Ctx[] = [];
      const shows = workflow("shows", async (ctx) => void seen.push(ctx));
      await engine.register(shows);
      await (await engine.start(shows, undefined)).result();
      return seen[0] as Ctx;
    },
    async close() {
      await hostedRun.evict({ drainMs: 0 });
      await test.close();
      await processes.close();
      await client.close();
      await engine.shutdown({ drainMs: 0 });
    },
  };
}

/** Runs in every state, a dead letter, a document and an export. */
async function stateRefs(engine: Engine, client: Client): Promise<Record<string, () => unknown>> {
  const suspended = await engine.start(waits, undefined);
  const ended = await engine.start(quick, 1);
  const failed = await engine.start(fails, undefined);
  const paused = await engine.start(waits, undefined);
  const sent = await engine.start(sendsAway, undefined);
  await Promise.all([ended.result(), sent.result(), failed.result().catch(() => undefined)]);
  await paused.pause("for the fuzz");
  await engine.documents.revise(null, { kind: "kind", id: "seen", runId: null, value: 1, attributes: {} });
  const document = await engine.documents.get("kind", "seen");
  const { items, cursor } = await engine.deadLetters.list({ limit: 1 });
  const spare = await keptExport;
  const journal = await ended.journal();
  return {
    engine: () => engine,
    client: () => client,
    "dead letters": () => engine.deadLetters,
    documents: () => engine.documents,
    "run handle": () => engine.run(suspended.id),
    "id of a suspended run": () => suspended.id,
    "id of an ended run": () => ended.id,
    "id of a failed run": () => failed.id,
    "id of a paused run": () => paused.id,
    "id of a dead letter": () => items[0]?.id ?? "none",
    cursor: () => cursor ?? undefined,
    document: () => document,
    journal: () => journal,
    export: () => spare,
    "export as text": () => JSON.stringify(spare),
  };
}

/** A store whose connections do not close it, with one ended run. */
const kept = sharedStore(memoryStore());

const keptExport = (async () => {
  const engine = await createEngine({ store: kept, workflows: [quick], log: () => undefined });
  await (await engine.start(quick, 1, { id: "exported" })).result();
  const exported = await exportRun(kept, "exported", { keepOpen: true });
  await engine.shutdown();
  return exported;
})();

function sharedStore(store: Store): Store {
  return testing.intercepted(store, async (call, proceed) =>
    call.method === "close" ? (undefined as never) : await proceed(),
  );
}

/** What calls may refer to in any world. */
function constants(): Record<string, () => unknown> {
  const values = {
    workflow: quick,
    "list of workflows": [quick, waits],
    "declared workflow": declareWorkflow("waits"),
    "workflow with a schema": workflow("schemed", { input: refuses }, async () => 1),
    "message type": message("go", accepts),
    "topic type": topic("news", { schema: refuses, consume: "all" }),
    schema: accepts,
    "schema that refuses": refuses,
    "asynchronous schema": asynchronous,
    "schema that throws": throws,
    callback: () => undefined,
    "callback that throws": () => {
      throw new Error("as intended");
    },
    branch: async (ctx: Ctx) => await ctx.step("inside", () => 1),
    iteration: async (_: Ctx, state: unknown, n: number) => (n < 2 ? Loop.continue(state) : Loop.break(n)),
    plan: () => ({ input: 1, result: 2 }),
    "open transaction": { prepare: () => ({}) },
    "no transaction": undefined,
    codec: { encode: (text: string) => text, decode: (text: string) => text },
    random: seededRandom(1),
    date: new Date(),
    signal: AbortSignal.abort(),
    "SQLite database": { exec: () => undefined, prepare: () => ({}), close: () => undefined },
    "module pawl": pawl,
    "module pawl/host": host,
    "module pawl/sqlite": sqlite,
    "module pawl/postgres": postgres,
    "module pawl/redis": redis,
    "module pawl/testing": testing,
  };
  return {
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, () => value])),
    "foreign workflow": () => ({ name: "quick", version: 1, options: {}, run: async () => 1, program: null }),
    clock: () => testing.virtualClock(),
    bytes: () => Uint8Array.of(2, 97, 0),
    driver: () => host.memoryDriver(),
    "spare store": () => memoryStore(),
    "store with a run": () => kept,
    "closed store": () =>
      testing.intercepted(memoryStore(), () =>
        Promise.reject(new pawl.StoreError("STORE_UNAVAILABLE", "notApplied", "closed")),
      ),
    "program host": () => ({ run: { id: "r", generation: 0 }, edition: 0, now: () => 1, encode: () => null }),
    "spare engine": () => createEngine({ store: memoryStore(), log: () => undefined }),
    "spare client": () => createClient({ store: memoryStore(), log: () => undefined }),
    "spare test engine": () => testing.testEngine({ workflows: [] }),
  };
}

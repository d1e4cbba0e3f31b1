import { createClient } from "@redis/client";
import { createEngine, type Hint, type Store, StoreError, type Transition, workflow } from "pawl";
import { redisStore } from "pawl/redis";
import { storeContract } from "pawl/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { startProxy } from "./cutting-proxy.mjs";
import { startCluster } from "./redis-cluster.mjs";
import { startRedis } from "./redis-server.mjs";

const HAS_SERVER = process.env.PAWL_TEST_REDIS_URL !== undefined;

const world = { now: () => Date.now(), every: () => () => undefined };

/** The time limit for effects in other processes, on a busy host. */
const PATIENT_WAIT = { timeout: 100_000 };

/** Longer than a server needs to open on a busy host with a slow disk. */
const SILENCE_MS = 2_000;

async function server(settings: Readonly<Record<string, string>> = {}) {
  const started = await startRedis(settings);
  onTestFinished(() => started.stop());
  return started;
}

async function opened(store: Store): Promise<Store> {
  onTestFinished(() => store.close());
  await store.open(world);
  return store;
}

function create(id: string, input: string | null = null): Transition {
  const now = Date.now();
  const facts = { workflow: "order", version: 1, input, tags: [], parent: null, createdAt: now, startId: id };
  return { kind: "create", run: { id, ...facts, owner: null, startAt: now } };
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => "no error",
    (error: { readonly code?: unknown }) => error.code,
  );
}

describe.skipIf(!HAS_SERVER)("Redis servers that would lose runs", () => {
  it("a Redis server without an append-only file is rejected, unless the option allows it", async () => {
    const { url } = await server({ appendonly: "no" });
    expect(await codeOf(redisStore(url).open(world))).toBe("STORE_UNSUPPORTED");
    await opened(redisStore(url, { allow: ["noAppendOnly"] }));
  });

  it("a Redis server that evicts keys is rejected, unless the option allows it", async () => {
    const { url } = await server({ "maxmemory-policy": "allkeys-lru" });
    expect(await codeOf(redisStore(url).open(world))).toBe("STORE_UNSUPPORTED");
    await opened(redisStore(url, { allow: ["eviction"] }));
  });

  it("opening a Redis store without a server fails with STORE_UNAVAILABLE", async () => {
    const { url, kill } = await server();
    await kill();
    const error = await redisStore(url)
      .open(world)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});

describe.skipIf(!HAS_SERVER)("Redis stores with a broken connection", () => {
  it("a batch in flight on a broken connection has an unknown outcome, and is answered when it is sent again", async () => {
    const { port, url } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`));
    proxy.dropReplies();
    const inFlight = store.commit([create("r")]).catch((error: unknown) => error);
    const onlooker = await opened(redisStore(url));
    await vi.waitFor(async () => expect(await onlooker.reader.get("r")).not.toBe(null), PATIENT_WAIT);
    proxy.cut();
    expect(await inFlight).toMatchObject({ name: "StoreError", code: "STORE_UNAVAILABLE", outcome: "unknown" });
    const again = await vi.waitFor(() => store.commit([create("r")]), PATIENT_WAIT);
    expect(again.answers).toEqual([{ kind: "applied", post: null, again: true }]);
  });

  it("a Redis store closes a connection without replies after silenceMs", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS }));
    proxy.dropReplies();
    expect(await store.commit([create("r")]).catch((error: unknown) => error)).toMatchObject({ outcome: "unknown" });
  });

  it("a connection without replies is closed under repeated calls, and receives no further commands", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS }));
    proxy.dropReplies();
    const refused = new Set<unknown>();
    let first: unknown = null;
    void store.ownedRunning("w").catch((error: unknown) => {
      first = error;
    });
    await vi.waitFor(
      async () => {
        void store.ownedRunning("w").catch(({ outcome }: { readonly outcome: unknown }) => refused.add(outcome));
        expect(first).toMatchObject({ name: "StoreError", outcome: "unknown" });
      },
      { ...PATIENT_WAIT, interval: 20 },
    );
    expect([...refused].sort()).toEqual(["notApplied", "unknown"]);
    proxy.cut();
    await vi.waitFor(() => store.ownedRunning("w"), PATIENT_WAIT);
  });

  it("a Redis store that is closed while it connects leaves no connection open", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`));
    proxy.dropReplies();
    const inFlight = store.ownedRunning("w").catch((error: unknown) => error);
    proxy.cut();
    expect(await inFlight).toMatchObject({ code: "STORE_UNAVAILABLE" });
    await store.close();
    await vi.waitFor(() => expect(proxy.connections).toEqual({ made: 2, open: 0 }), PATIENT_WAIT);
  });

  it("an engine shuts down while no replies arrive from Redis", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS });
    const idle = workflow("idle", async (ctx) => await ctx.sleep("1 day"));
    const engine = await createEngine({ store, workflows: [idle], poll: 50, log: () => undefined });
    proxy.dropReplies();
    const started = engine.start(idle, undefined, { id: "r" }).catch((error: unknown) => error);
    const result = engine
      .run("r")
      .result()
      .catch((error: unknown) => error);
    await engine.shutdown({ drainMs: 100 });
    await vi.waitFor(() => expect(proxy.connections.open).toBe(0), PATIENT_WAIT);
    expect(await Promise.all([started, result])).toMatchObject([{ name: "PawlError" }, { name: "PawlError" }]);
  });

  it("a killed Redis server keeps committed runs, and the store works again after its restart", async () => {
    const { url, kill, start } = await server({ appendfsync: "always" });
    const store = await opened(redisStore(url));
    await store.commit([create("before")]);
    await kill();
    expect(await codeOf(store.commit([create("during")]))).toBe("STORE_UNAVAILABLE");
    await start();
    await vi.waitFor(() => store.commit([create("after")]), PATIENT_WAIT);
    const { items } = await store.reader.list({ limit: 10 });
    expect(items.map(({ id }) => id).sort()).toEqual(["after", "before"]);
  });

  it("a Redis store works after SCRIPT FLUSH", async () => {
    const { url } = await server();
    const store = await opened(redisStore(url));
    const client = createClient({ url });
    await client.connect();
    await client.sendCommand(["SCRIPT", "FLUSH"]);
    client.destroy();
    expect((await store.commit([create("r")])).answers).toMatchObject([{ kind: "applied" }]);
    expect(await store.reader.get("r")).not.toBe(null);
  });
});

describe.skipIf(!HAS_SERVER)("Redis stores", () => {
  it("a batch is refused as a whole when the memory of the Redis server is full", async () => {
    const { url } = await server({ maxmemory: "3mb" });
    const store = await opened(redisStore(url));
    let last = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await store.commit([create(`r${last}`, "x".repeat(100_000)), create(`s${last}`)]);
        last += 1;
      }
    };
    const error = await fill().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_FULL", outcome: "notApplied" });
    expect(await Promise.all([`r${last}`, `s${last}`].map((id) => store.reader.get(id)))).toEqual([null, null]);
    expect(await store.reader.count({})).toBe(2 * last);
  });

  it("a Redis store notifies other stores of changed runs, but not itself", async () => {
    const { url } = await server();
    const [mine, theirs] = [await opened(redisStore(url)), await opened(redisStore(url))];
    const hints: [string, Hint][] = [];
    mine.watch((hint) => hints.push(["mine", hint]));
    theirs.watch((hint) => hints.push(["theirs", hint]));
    await mine.commit([create("r"), create("s")]);
    const started = { runIds: ["r", "s"], owners: [null, null], ended: [] };
    await vi.waitFor(() => expect(hints).toEqual([["theirs", started]]), PATIENT_WAIT);
    await mine.commit(Array.from({ length: 1_001 }, (_, index) => create(`many${index}`)));
    await vi.waitFor(() => expect(hints[1]).toEqual(["theirs", { runIds: null }]), PATIENT_WAIT);
    expect(hints.length).toBe(2);
  });

  it("a Redis store uses the clock of the server, not of the process", async () => {
    const { url } = await server();
    const store = redisStore(url);
    onTestFinished(() => store.close());
    await store.open({ now: () => Date.now() - 3_600_000, every: () => () => undefined });
    expect(Math.abs(store.now() - Date.now())).toBeLessThan(60_000);
    await store.commit([create("r")]);
    expect(await store.claim({ worker: "w", limit: 1, workflows: [{ name: "order", version: 1 }] })).toMatchObject([
      { id: "r", owner: "w" },
    ]);
  });

  it("calls of a closed Redis store fail with a StoreError", async () => {
    const { url } = await server();
    const store = await opened(redisStore(url));
    await store.close();
    for (const call of [store.commit([create("r")]), store.ownedRunning("w")]) {
      expect(await call.catch((error: unknown) => error)).toMatchObject({ name: "StoreError", outcome: "notApplied" });
    }
  });

  it("redisStore rejects invalid options", () => {
    const code = (make: () => unknown) => codeOf(Promise.resolve().then(make));
    const wrong = [
      () => redisStore("http://127.0.0.1"),
      () => redisStore("nonsense"),
      () => redisStore([]),
      () => redisStore("redis://127.0.0.1", { prefix: "a{b}" }),
      () => redisStore("redis://127.0.0.1", { prefix: "" }),
      () => redisStore("redis://127.0.0.1", { silenceMs: 0 }),
      () => redisStore("redis://127.0.0.1", { partitions: 0 }),
      () => redisStore("redis://127.0.0.1", { partitions: 257 }),
      () => redisStore("redis://127.0.0.1", { clock: "sun" as "server" }),
    ];
    return expect(Promise.all(wrong.map(code))).resolves.toEqual(wrong.map(() => "OPTION_INVALID"));
  });
});

describe.skipIf(!HAS_SERVER)("a frozen Redis Cluster", () => {
  it("a store closes while the nodes of its Redis Cluster do not reply", async () => {
    const { urls, freeze, stop } = await startCluster();
    onTestFinished(stop);
    const store = redisStore(urls, { prefix: "silent", partitions: 3, silenceMs: SILENCE_MS });
    await store.open(world);
    freeze();
    const inFlight = store.commit([create("r")]).catch((error: unknown) => error);
    await new Promise(setImmediate);
    await store.close();
    expect(await inFlight).toMatchObject({ name: "StoreError", code: "STORE_UNAVAILABLE" });
  });
});

describe.skipIf(!HAS_SERVER)("a Redis Cluster of three nodes", () => {
  let urls: readonly string[] = [];
  let stop = async (): Promise<void> => undefined;
  let last = 0;
  beforeAll(async () => {
    ({ urls, stop } = await startCluster());
  });
  afterAll(() => stop());

  const subject = async () => {
    last += 1;
    const connect = () => redisStore(urls, { prefix: `cluster:${last}`, clock: "process" });
    return { store: connect(), another: connect };
  };
  storeContract("redis cluster", subject, { describe, it, expect });

  it("runs of a partitioned store are on all nodes, and start, wake and message each other", async () => {
    const store = redisStore(urls, { prefix: "spread", partitions: 6 });
    onTestFinished(() => engine.shutdown());
    const greet = workflow("greet", async (ctx, name: string) => ctx.step("say", () => `hello ${name}`));
    const ask = workflow("ask", async (ctx, n: number) => {
      const greeting = await ctx.child(greet, `child of ${n}`);
      const bell = await ctx.awaitEvent<string>("bell");
      const word = await ctx.listen<string>("word");
      return [greeting, bell.timedOut ? "" : bell.value, word.timedOut ? "" : word.value];
    });
    const engine = await createEngine({ store, workflows: [greet, ask] });
    const runs = await Promise.all(Array.from({ length: 30 }, (_, n) => engine.start(ask, n, { id: `ask-${n}` })));
    await engine.emit("bell", "ding", { consume: "all" });
    await Promise.all(runs.map((run) => run.send("word", "go")));
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results).toEqual(runs.map((_, n) => [`hello child of ${n}`, "ding", "go"]));
    const { items } = await engine.list({ limit: 100 });
    expect(items.length).toBe(60);
    for (const url of urls) {
      const client = createClient({ url });
      await client.connect();
      expect(Number(await client.sendCommand(["DBSIZE"]))).toBeGreaterThan(50);
      client.destroy();
    }
  });
});

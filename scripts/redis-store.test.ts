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

/** What happens elsewhere takes as long as the machine lets it. */
const ELSEWHERE = { timeout: 100_000 };

/** Long enough for a server to be opened on a busy machine, whose disk may keep it waiting. */
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
    () => "nothing was thrown",
    (error: { readonly code?: unknown }) => error.code,
  );
}

describe.skipIf(!HAS_SERVER)("a Redis server that would lose runs", () => {
  it("is refused without an append-only file, unless that is allowed", async () => {
    const { url } = await server({ appendonly: "no" });
    expect(await codeOf(redisStore(url).open(world))).toBe("STORE_UNSUPPORTED");
    await opened(redisStore(url, { allow: ["noAppendOnly"] }));
  });

  it("is refused when it evicts keys, unless that is allowed", async () => {
    const { url } = await server({ "maxmemory-policy": "allkeys-lru" });
    expect(await codeOf(redisStore(url).open(world))).toBe("STORE_UNSUPPORTED");
    await opened(redisStore(url, { allow: ["eviction"] }));
  });

  it("is not there: opening the store says so", async () => {
    const { url, kill } = await server();
    await kill();
    const error = await redisStore(url)
      .open(world)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});

describe.skipIf(!HAS_SERVER)("a Redis store whose connection breaks", () => {
  it("does not know what became of a batch in flight, and the same batch again answers as the first time", async () => {
    const { port, url } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`));
    proxy.loseAnswers();
    const inFlight = store.commit([create("r")]).catch((error: unknown) => error);
    const onlooker = await opened(redisStore(url));
    await vi.waitFor(async () => expect(await onlooker.reader.get("r")).not.toBe(null), ELSEWHERE);
    proxy.cut();
    expect(await inFlight).toMatchObject({ name: "StoreError", code: "STORE_UNAVAILABLE", outcome: "unknown" });
    const again = await vi.waitFor(() => store.commit([create("r")]), ELSEWHERE);
    expect(again.answers).toEqual([{ kind: "applied", post: null, again: true }]);
  });

  it("gives up a connection on which nothing is heard", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS }));
    proxy.loseAnswers();
    expect(await store.commit([create("r")]).catch((error: unknown) => error)).toMatchObject({ outcome: "unknown" });
  });

  it("gives it up too when it is asked again and again, and sends nothing more on it", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS }));
    proxy.loseAnswers();
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
      { ...ELSEWHERE, interval: 20 },
    );
    expect([...refused].sort()).toEqual(["notApplied", "unknown"]);
    proxy.cut();
    await vi.waitFor(() => store.ownedRunning("w"), ELSEWHERE);
  });

  it("leaves nothing behind when it is closed while a connection is being made", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = await opened(redisStore(`redis://127.0.0.1:${proxy.port}`));
    proxy.loseAnswers();
    const inFlight = store.ownedRunning("w").catch((error: unknown) => error);
    proxy.cut();
    expect(await inFlight).toMatchObject({ code: "STORE_UNAVAILABLE" });
    await store.close();
    await vi.waitFor(() => expect(proxy.connections).toEqual({ made: 2, open: 0 }), ELSEWHERE);
  });

  it("lets an engine end while nothing comes through", async () => {
    const { port } = await server();
    const proxy = await startProxy(port);
    onTestFinished(() => proxy.stop());
    const store = redisStore(`redis://127.0.0.1:${proxy.port}`, { silenceMs: SILENCE_MS });
    const idle = workflow("idle", async (ctx) => await ctx.sleep("1 day"));
    const engine = await createEngine({ store, workflows: [idle], poll: 50, log: () => undefined });
    proxy.loseAnswers();
    const started = engine.start(idle, undefined, { id: "r" }).catch((error: unknown) => error);
    const result = engine
      .run("r")
      .result()
      .catch((error: unknown) => error);
    await engine.shutdown({ drainMs: 100 });
    await vi.waitFor(() => expect(proxy.connections.open).toBe(0), ELSEWHERE);
    expect(await Promise.all([started, result])).toMatchObject([{ name: "PawlError" }, { name: "PawlError" }]);
  });

  it("keeps what was committed when the server is killed, and goes on when it is back", async () => {
    const { url, kill, start } = await server({ appendfsync: "always" });
    const store = await opened(redisStore(url));
    await store.commit([create("before")]);
    await kill();
    expect(await codeOf(store.commit([create("during")]))).toBe("STORE_UNAVAILABLE");
    await start();
    await vi.waitFor(() => store.commit([create("after")]), ELSEWHERE);
    const { items } = await store.reader.list({ limit: 10 });
    expect(items.map(({ id }) => id).sort()).toEqual(["after", "before"]);
  });

  it("needs no script to be known to the server", async () => {
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

describe.skipIf(!HAS_SERVER)("a Redis store", () => {
  it("whose server's memory is used up refuses a batch as a whole", async () => {
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

  it("tells others which runs have changed, and itself nothing", async () => {
    const { url } = await server();
    const [mine, theirs] = [await opened(redisStore(url)), await opened(redisStore(url))];
    const heard: [string, Hint][] = [];
    mine.watch((hint) => heard.push(["mine", hint]));
    theirs.watch((hint) => heard.push(["theirs", hint]));
    await mine.commit([create("r"), create("s")]);
    await vi.waitFor(() => expect(heard).toEqual([["theirs", { runIds: ["r", "s"] }]]), ELSEWHERE);
    await mine.commit(Array.from({ length: 101 }, (_, index) => create(`many${index}`)));
    await vi.waitFor(() => expect(heard[1]).toEqual(["theirs", { runIds: null }]), ELSEWHERE);
    expect(heard.length).toBe(2);
  });

  it("goes by the server's clock, whatever this process's says", async () => {
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

  it("that is closed answers nothing, as one that can't be reached", async () => {
    const { url } = await server();
    const store = await opened(redisStore(url));
    await store.close();
    for (const call of [store.commit([create("r")]), store.ownedRunning("w")]) {
      expect(await call.catch((error: unknown) => error)).toMatchObject({ name: "StoreError", outcome: "notApplied" });
    }
  });

  it("refuses options that make no sense", () => {
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

describe.skipIf(!HAS_SERVER)("a cluster whose nodes say nothing", () => {
  it("does not keep a store from being closed", async () => {
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

describe.skipIf(!HAS_SERVER)("on a cluster of three nodes", () => {
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

  it("runs of a store with partitions are on all nodes, and work together as if they were on one", async () => {
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

import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../engine/engine.ts";
import { workflow } from "../../workflow/workflow.ts";
import { RedisConnection } from "./connection.ts";
import { redisStore } from "./index.ts";
import { redisClient } from "./redis-client.ts";
import { RedisStore } from "./redis-store.ts";

/** Each command is a round trip. Their number bounds the load that many workers put on one server. */
const ROUND_TRIPS_A_STEP_MAX = 0.05;
const STEPS = 10;
const SILENCE_MS = 10_000;

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;

const ten = workflow("ten", async (ctx) => {
  for (let n = 0; n < STEPS; n += 1) await ctx.step(`step-${n}`, async () => n);
  return "done";
});

/** An engine that does nothing by itself during a test, and the commands that it has sent. */
async function open(address: string, name: string) {
  const sent: string[] = [];
  const connect = async (): Promise<RedisConnection> => {
    const client = await redisClient(address, { silenceMs: SILENCE_MS });
    const send = async (key: string, args: readonly string[]): Promise<unknown> => {
      sent.push(args[0] ?? "");
      return await client.send(key, args);
    };
    return new RedisConnection({ ...client, send }, `{round-trips:${process.pid}:${name}}`, { index: 0, count: 1 });
  };
  const store = new RedisStore({
    connect,
    check: async () => undefined,
    checkLayout: null,
    allow: [],
    clock: "server",
    silenceMs: SILENCE_MS,
  });
  const engine = await createEngine({ store, workflows: [ten], poll: "30s", lease: "5m" });
  onTestFinished(() => engine.shutdown());
  return { sent, engine };
}

describe.skipIf(ADDRESS === undefined)("Redis round trips", () => {
  const address = ADDRESS ?? "";

  it("300 concurrent runs on Redis need less than 0.05 round trips per step", async () => {
    const { sent, engine } = await open(address, "many");
    sent.length = 0;
    const runs = 300;
    await Promise.all(Array.from({ length: runs }, async () => (await engine.start(ten, undefined)).result()));
    expect(sent.length / (runs * STEPS)).toBeLessThan(ROUND_TRIPS_A_STEP_MAX);
  });

  it("each step of a single run on Redis is one round trip, and the last one also ends the run", async () => {
    const { sent, engine } = await open(address, "one");
    await (await engine.start(ten, undefined)).result();
    sent.length = 0;
    await (await engine.start(ten, undefined)).result();
    expect(sent).toEqual(Array.from({ length: STEPS + 1 }, () => "EVALSHA"));
  });

  it.each([1, 3])(
    "a Redis store with %i partition(s) uses the server's clock, and its estimate is less than 1 ms ahead",
    async (partitions) => {
      const client = await redisClient(address, { silenceMs: SILENCE_MS });
      await client.connect();
      const store = redisStore(address, { prefix: `clock:${process.pid}:${partitions}`, partitions });
      onTestFinished(async () => {
        await store.close();
        await client.close();
      });
      const hourMs = 3_600_000;
      await store.open({ now: () => Date.now() + hourMs, every: () => () => undefined });
      const serverNow = async (): Promise<number> => {
        const [seconds, micros] = (await client.send("", ["TIME"])) as [string, string];
        return Number(seconds) * 1_000 + Number(micros) / 1_000;
      };
      const before = await serverNow();
      const reported = await store.readClock?.();
      const estimated = store.now();
      const after = await serverNow();
      // The store has whole milliseconds, and the server's milliseconds do not start when those of this process do.
      expect(reported).toBeGreaterThanOrEqual(Math.floor(before));
      expect(reported).toBeLessThanOrEqual(after);
      expect(estimated).toBeGreaterThanOrEqual(Math.floor(before));
      expect(estimated).toBeLessThan(after + 1);
    },
  );
});

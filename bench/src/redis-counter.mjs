import { createClient } from "@redis/client";

/** Counters of a Redis server: executed scripts, and the CPU time of its process. */

/** @param {string} url */
export async function openRedisCounter(url) {
  const client = createClient({ url });
  await client.connect();
  return {
    async read() {
      const [stats, cpu] = [await client.info("commandstats"), await client.info("cpu")];
      const calls = [...stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm)].map(([, count]) =>
        Number(count),
      );
      const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, value]) => Number(value));
      return { statements: sum(calls), serverMicros: sum(seconds) * 1e6 };
    },
    async close() {
      client.destroy();
    },
  };
}

/** @param {readonly number[]} values */
function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

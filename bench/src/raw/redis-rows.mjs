import { createClient } from "@redis/client";

/** Lists with entries like those of a journal, many in a transaction: the limit of this server with the same driver. */

const LISTS = 5_000;
const WARM_COMMITS = 50;

/** @param {import("../place.mjs").RedisPlace} place */
export async function openRedisRows({ url, prefix }) {
  const client = createClient({ url });
  await client.connect();
  let written = 0;
  /** Writes entries in one transaction. Returns the duration in ms. @param {number} rows */
  const commit = async (rows) => {
    const startedAt = performance.now();
    const batch = client.multi();
    for (let n = 0; n < rows; n += 1) {
      written += 1;
      const step = written % 10;
      const now = Date.now();
      const payload = JSON.stringify({ step, ok: true });
      const entry = JSON.stringify([written, `step-${step}`, "step", "ok", payload, 1, now, now, null]);
      batch.rPush(`${prefix}-raw:${written % LISTS}`, entry);
    }
    await batch.exec();
    return performance.now() - startedAt;
  };
  for (let n = 0; n < WARM_COMMITS; n += 1) await commit(1);
  return {
    commit,
    async close() {
      client.destroy();
    },
  };
}

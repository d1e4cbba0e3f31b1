import { PawlError } from "../../model/errors.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";
import { storeErrorOf } from "./errors.ts";

/** Shares one client among all partitions of a store. A store that is opened again after a close gets a new client. */
export function sharedClients(make: () => Promise<RedisClient>): () => Promise<RedisClient> {
  let current: Promise<RedisClient> | null = null;
  return () => {
    current ??= make().then((client) =>
      sharedClient(client, () => {
        current = null;
      }),
    );
    return current;
  };
}

/** The first `connect` connects the client, and the first `close` closes it. Later calls return the same promise. */
export function sharedClient(client: RedisClient, onClosed: () => void): RedisClient {
  let connected: Promise<unknown> | null = null;
  let closed: Promise<unknown> | null = null;
  return {
    connect: () => {
      connected ??= client.connect();
      return connected;
    },
    send: (key, args) => client.send(key, args),
    subscribe: (channel, listener) => client.subscribe(channel, listener),
    onReady: (listener) => client.onReady(listener),
    close: () => {
      if (closed === null) onClosed();
      closed ??= client.close();
      return closed;
    },
  };
}

/** The version of the row format. A store with another layout is not opened. */
const LAYOUT = "2";

/**
 * Stores the number of partitions and the layout on first use, and rejects a store that has others. The number of partitions determines
 * the partition of each run, so a store with another number would not find its runs.
 */
export async function checkPartitions(client: RedisClient, prefix: string, count: number): Promise<void> {
  const key = `{${prefix}}`;
  const send = async (...args: readonly string[]): Promise<unknown> => {
    try {
      return await client.send(key, args);
    } catch (error) {
      throw storeErrorOf(error);
    }
  };
  // A store of one partition has its counters at this key.
  const isUnpartitioned = count > 1 && (await send("EXISTS", `${key}:c`)) === 1;
  if (!isUnpartitioned) await send("SET", `${key}:n`, `${count}/${LAYOUT}`, "NX");
  const [stored, layout = "1"] = isUnpartitioned ? ["1", LAYOUT] : String(await send("GET", `${key}:n`)).split("/");
  refuseOtherLayout(prefix, layout);
  if (stored === String(count)) return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `store ${prefix} has ${stored} partitions; got partitions: ${count}; pass ${stored}, or use another prefix`,
  );
}

/** Throws STORE_UNSUPPORTED if a newer release has changed the layout since the store was opened. */
export async function checkLayout(connection: RedisConnection, prefix: string): Promise<void> {
  const stored = await connection.get(`{${prefix}}:n`);
  const [, layout] = typeof stored === "string" ? stored.split("/") : [];
  if (layout !== undefined) refuseOtherLayout(prefix, layout);
}

function refuseOtherLayout(prefix: string, layout: string): void {
  if (layout === LAYOUT) return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `store ${prefix} has layout ${layout}; this version of Pawl needs layout ${LAYOUT}; use another prefix`,
  );
}

import { PawlError } from "../../model/errors.ts";
import { type RedisClient, storeErrorOf } from "./connection.ts";

/** One client for all partitions of a store, and another when that one was closed: a store may be opened again. */
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

/** Connected by the first that wants it, closed by the first that does not. */
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

/** How rows are laid out. Those who would read and write them in another way must not meet. */
const LAYOUT = "2";

/**
 * The number of partitions says where a run is, so it is written down, and another number finds nothing of what is there. The
 * layout is written down with it.
 */
export async function checkPartitions(client: RedisClient, prefix: string, count: number): Promise<void> {
  const key = `{${prefix}}`;
  const ask = async (...args: readonly string[]): Promise<unknown> => {
    try {
      return await client.send(key, args);
    } catch (error) {
      throw storeErrorOf(error) ?? error;
    }
  };
  const isWhole = count > 1 && (await ask("EXISTS", `${key}:c`)) === 1;
  if (!isWhole) await ask("SET", `${key}:n`, `${count}/${LAYOUT}`, "NX");
  const [kept, layout = "1"] = isWhole ? ["1", LAYOUT] : String(await ask("GET", `${key}:n`)).split("/");
  if (layout !== LAYOUT) {
    throw new PawlError(
      "STORE_UNSUPPORTED",
      `the rows of the store ${prefix} have layout ${layout}, and this version of Pawl has layout ${LAYOUT}; take another prefix`,
    );
  }
  if (kept === String(count)) return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `the store ${prefix} has ${kept} partitions and was opened with ${count}; open it with ${kept}, or take another prefix`,
  );
}

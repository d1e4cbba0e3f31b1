import { kinds, notAllowed, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Store } from "../store.ts";
import { RedisConnection } from "./connection.ts";
import { PartitionedStore } from "./partitioned-store.ts";
import { partitionPrefixes } from "./partitions.ts";
import { redisClient } from "./redis-client.ts";
import { RedisStore } from "./redis-store.ts";
import type { RedisRisk } from "./server-settings.ts";
import { checkLayout, checkPartitions, sharedClients } from "./shared-client.ts";

export type { RedisRisk };

export interface RedisStoreOptions {
  /** The prefix of all keys, without braces. The store adds them. Default `pawl`. */
  readonly prefix?: string;
  /**
   * Number of partitions, from 1 to 256. Each partition is in one slot of a cluster, so several nodes share the work. Posts between runs
   * of different partitions take one more round trip. It cannot be changed later. Default 1.
   */
  readonly partitions?: number;
  /**
   * Unsafe server settings to accept. Default: none; such a server is rejected.
   * - `noAppendOnly`: the server has no append-only file. A restart loses all runs.
   * - `eviction`: `maxmemory-policy` is not `noeviction`. The server may delete runs when its memory is full.
   */
  readonly allow?: readonly RedisRisk[];
  /** A connection that receives nothing for this long, in ms, is closed and opened again. Default 10,000. */
  readonly silenceMs?: number;
  /** Which clock decides. `process` is for tests with virtual time: all processes must then share one clock. Default `server`. */
  readonly clock?: "server" | "process";
}

const SILENCE_MS = 10_000;
const PARTITIONS_MAX = 256;

/** A timeout of Node fires at once when it is longer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

const URLS_MAX = 1_000;
const URL_KIND = {
  ...kinds.text,
  allowed: "a URL that begins with redis:// or rediss://",
  fits: (value: unknown) => typeof value === "string" && isRedisUrl(value),
};
const SOURCE = kinds.either(URL_KIND, kinds.list(URL_KIND, { min: 1, max: URLS_MAX }));

const OPTIONS = optionTable<RedisStoreOptions>("redisStore", {
  prefix: kinds.bytesUpTo(255),
  partitions: kinds.integer(1, PARTITIONS_MAX),
  allow: kinds.list(kinds.oneOf("noAppendOnly", "eviction")),
  silenceMs: kinds.integer(1, TIMEOUT_MS_MAX),
  clock: kinds.oneOf("server", "process"),
});

/**
 * A store on a Redis or Valkey server, version 7 or newer, which any number of processes may share. `source` is an address
 * (`redis://…`), or a list of addresses of nodes of one Redis Cluster.
 *
 * ```ts
 * const engine = await createEngine({ store: redisStore("redis://127.0.0.1:6379"), workflows: [order] });
 * ```
 */
export function redisStore(source: string | readonly string[], options?: RedisStoreOptions): Store {
  const addresses = readArgument(SOURCE, source, "source");
  const checked = readOptions(OPTIONS, options);
  const { prefix = "pawl", partitions = 1, allow = [], silenceMs = SILENCE_MS, clock = "server" } = checked;
  if (/[{}]/.test(prefix)) throw notAllowed("prefix", "text without braces", prefix);
  const client = sharedClients(() => redisClient(addresses, { silenceMs }));
  const check = async (): Promise<void> => checkPartitions(await client(), prefix, partitions);
  const parts = partitionPrefixes(prefix, partitions).map((keys, index) => {
    const connect = async () => new RedisConnection(await client(), keys, { index, count: partitions });
    const layout = index === 0 ? (connection: RedisConnection) => checkLayout(connection, prefix) : null;
    return new RedisStore({ connect, check, checkLayout: layout, allow, clock, silenceMs });
  });
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : new PartitionedStore(parts);
}

function isRedisUrl(text: string): boolean {
  return URL.canParse(text) && /^(redis|rediss):$/.test(new URL(text).protocol);
}

import { PawlError } from "../../model/errors.ts";
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

/**
 * A store on a Redis or Valkey server, version 7 or newer, which any number of processes may share. `source` is an address
 * (`redis://…`), or a list of addresses of nodes of one Redis Cluster.
 *
 * ```ts
 * const engine = await createEngine({ store: redisStore("redis://127.0.0.1:6379"), workflows: [order] });
 * ```
 */
export function redisStore(source: string | readonly string[], options: RedisStoreOptions = {}): Store {
  const { prefix = "pawl", partitions = 1, allow = [], silenceMs = SILENCE_MS, clock = "server" } = options;
  for (const url of typeof source === "string" ? [source] : source) checkUrl(url);
  if (source.length === 0) throw invalid("source must have at least one address; got an empty list");
  if (prefix === "" || /[{}]/.test(prefix)) throw invalid(`prefix must be a text without braces; got "${prefix}"`);
  if (!Number.isSafeInteger(partitions) || partitions < 1 || partitions > PARTITIONS_MAX) {
    throw invalid(`partitions must be an integer from 1 to ${PARTITIONS_MAX}; got ${partitions}`);
  }
  if (!Number.isSafeInteger(silenceMs) || silenceMs <= 0) {
    throw invalid(`silenceMs must be a positive integer; got ${silenceMs}`);
  }
  if (clock !== "server" && clock !== "process") {
    throw invalid(`clock must be "server" or "process"; got "${String(clock)}"`);
  }
  const client = sharedClients(() => redisClient(source, { silenceMs }));
  const check = async (): Promise<void> => checkPartitions(await client(), prefix, partitions);
  const parts = partitionPrefixes(prefix, partitions).map((keys, index) => {
    const connect = async () => new RedisConnection(await client(), keys, { index, count: partitions });
    const layout = index === 0 ? (connection: RedisConnection) => checkLayout(connection, prefix) : null;
    return new RedisStore({ connect, check, checkLayout: layout, allow, clock, silenceMs });
  });
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : new PartitionedStore(parts);
}

function checkUrl(url: string): void {
  if (URL.canParse(url) && /^(redis|rediss):$/.test(new URL(url).protocol)) return;
  throw invalid("address must be a URL that begins with redis:// or rediss://");
}

function invalid(message: string): PawlError {
  return new PawlError("OPTION_INVALID", message);
}

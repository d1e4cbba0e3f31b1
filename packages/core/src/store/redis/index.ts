import { PawlError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import { redisClient } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { PartitionedStore } from "./partitioned-store.ts";
import { partitionPrefixes } from "./partitions.ts";
import { RedisStore } from "./redis-store.ts";
import type { RedisRisk } from "./server-settings.ts";
import { checkPartitions, sharedClients } from "./shared-client.ts";

export type { RedisRisk };

export interface RedisStoreOptions {
  /** What all keys begin with, in braces. `pawl` when left out. */
  readonly prefix?: string;
  /**
   * How many parts the runs are spread over, from 1 to 256. Each is in one slot of a cluster, so that many nodes share the work;
   * what runs of different parts say to each other takes one more round trip. It can't be changed later. 1 when left out.
   */
  readonly partitions?: number;
  /**
   * What the server may lack. `noAppendOnly`: an append-only file, so that a restart loses everything. `eviction`: a policy of
   * `noeviction`, so that it may drop runs when its memory is used up. Without these such a server is refused.
   */
  readonly allow?: readonly RedisRisk[];
  /** A connection on which nothing was heard for so long, in ms, is given up. */
  readonly silenceMs?: number;
  /** Whose time counts: the server's, or, for tests with a virtual clock, that of this process. */
  readonly clock?: "server" | "process";
}

const SILENCE_MS = 10_000;
const PARTITIONS_MAX = 256;

/**
 * Keeps everything on a Redis or Valkey server, version 7 or newer, which any number of processes may share. A list of
 * addresses names nodes of one Redis Cluster.
 *
 * ```ts
 * const engine = await createEngine({ store: redisStore("redis://127.0.0.1:6379"), workflows: [order] });
 * ```
 */
export function redisStore(source: string | readonly string[], options: RedisStoreOptions = {}): Store {
  const { prefix = "pawl", partitions = 1, allow = [], silenceMs = SILENCE_MS, clock = "server" } = options;
  for (const url of typeof source === "string" ? [source] : source) checkUrl(url);
  if (source.length === 0) throw invalid("no address of a server was given");
  if (prefix === "" || /[{}]/.test(prefix)) throw invalid(`prefix is "${prefix}"; it must be a text without braces`);
  if (!Number.isSafeInteger(partitions) || partitions < 1 || partitions > PARTITIONS_MAX) {
    throw invalid(`partitions is ${partitions}; it must be a whole number from 1 to ${PARTITIONS_MAX}`);
  }
  if (!Number.isSafeInteger(silenceMs) || silenceMs <= 0) {
    throw invalid(`silenceMs is ${silenceMs}; it must be a whole number above 0`);
  }
  if (clock !== "server" && clock !== "process") {
    throw invalid(`clock is ${String(clock)}; it can be server or process`);
  }
  const client = sharedClients(() => redisClient(source, { silenceMs }));
  const check = async (): Promise<void> => checkPartitions(await client(), prefix, partitions);
  const parts = partitionPrefixes(prefix, partitions).map((keys, index) => {
    const connect = async () => new RedisConnection(await client(), keys, { index, count: partitions });
    return new RedisStore({ connect, check, allow, clock, silenceMs });
  });
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : new PartitionedStore(parts);
}

function checkUrl(url: string): void {
  if (URL.canParse(url) && /^(redis|rediss):$/.test(new URL(url).protocol)) return;
  throw invalid("an address must be a URL that begins with redis:// or rediss://");
}

function invalid(message: string): PawlError {
  return new PawlError("OPTION_INVALID", message);
}

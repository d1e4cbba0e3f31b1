import { PawlError } from "../../model/errors.ts";
import type { Store } from "../store.ts";
import { redisClient } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { RedisStore } from "./redis-store.ts";
import type { RedisRisk } from "./server-settings.ts";

export type { RedisRisk };

export interface RedisStoreOptions {
  /** What all keys begin with, in braces: everything of one store is in one slot of a cluster. `pawl` when left out. */
  readonly prefix?: string;
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

/**
 * Keeps everything on a Redis or Valkey server, version 7 or newer, which any number of processes may share. A list of
 * addresses names nodes of one Redis Cluster.
 *
 * ```ts
 * const engine = await createEngine({ store: redisStore("redis://127.0.0.1:6379"), workflows: [order] });
 * ```
 */
export function redisStore(source: string | readonly string[], options: RedisStoreOptions = {}): Store {
  const { prefix = "pawl", allow = [], silenceMs = SILENCE_MS, clock = "server" } = options;
  for (const url of typeof source === "string" ? [source] : source) checkUrl(url);
  if (source.length === 0) throw invalid("no address of a server was given");
  if (prefix === "" || /[{}]/.test(prefix)) throw invalid(`prefix is "${prefix}"; it must be a text without braces`);
  if (!Number.isSafeInteger(silenceMs) || silenceMs <= 0) {
    throw invalid(`silenceMs is ${silenceMs}; it must be a whole number above 0`);
  }
  if (clock !== "server" && clock !== "process") {
    throw invalid(`clock is ${String(clock)}; it can be server or process`);
  }
  const connect = async (): Promise<RedisConnection> =>
    new RedisConnection(await redisClient(source, { silenceMs }), `{${prefix}}`);
  return new RedisStore({ connect, allow, clock });
}

function checkUrl(url: string): void {
  if (URL.canParse(url) && /^(redis|rediss):$/.test(new URL(url).protocol)) return;
  throw invalid("an address must be a URL that begins with redis:// or rediss://");
}

function invalid(message: string): PawlError {
  return new PawlError("OPTION_INVALID", message);
}

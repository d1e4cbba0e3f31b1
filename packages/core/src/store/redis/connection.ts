import { createHash } from "node:crypto";
import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { READ_SCRIPT, WRITE_SCRIPT } from "./script/script.ts";

/** The part of `@redis/client` that is used, the same for one server and for a cluster. */
export interface RedisClient {
  connect(): Promise<unknown>;
  /** In a cluster the key says which node gets it. */
  send(key: string, args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  /** A connection that was lost is there again; whatever was told meanwhile is gone. */
  onReady(listener: () => void): void;
  close(): Promise<unknown>;
}

interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Which part of a store this is, and of how many. */
export interface Place {
  readonly index: number;
  readonly count: number;
}

/** Numbers of stores, of equal length. */
const ORIGIN_LENGTH = 16;
const NO_ORIGIN = "0".repeat(ORIGIN_LENGTH);

const WRITE = scriptOf(WRITE_SCRIPT);
const READ = scriptOf(READ_SCRIPT);

/**
 * Sends scripts, and tells what became of them.
 *
 * 1. A command is sent once. When its connection breaks before the answer its outcome is unknown, and whoever sent it hears so.
 * 2. While there is no connection a command fails at once: nothing waits in a queue that nobody can look into.
 * 3. On a connection that is silent nothing is sent, so that the client gives it up.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #place: readonly string[];
  /** Tells this store's hints from those of others. */
  #origin = NO_ORIGIN;
  /** Null: whoever has made the store has another clock than connections. */
  #silence: SilenceGuard | null = null;

  constructor(client: RedisClient, prefix: string, place: Place) {
    this.#client = client;
    this.#prefix = prefix;
    this.#place = [String(place.index), String(place.count)];
  }

  async open(silence: SilenceGuard | null): Promise<void> {
    this.#silence = silence;
    await this.#reaching(() => this.#client.connect());
    const [number] = (await this.write("join", "", [])) as [number];
    this.#origin = String(number).padStart(ORIGIN_LENGTH, "0");
  }

  write(operation: string, now: string, args: readonly string[]): Promise<unknown> {
    return this.#run(WRITE, operation, now, args);
  }

  read(operation: string, now: string, args: readonly string[]): Promise<unknown> {
    return this.#run(READ, operation, now, args);
  }

  command(...args: readonly string[]): Promise<unknown> {
    return this.#reaching(() => this.#send(args));
  }

  /** Tells what others have changed: ids of runs, or null for any. */
  async listen(onHint: (runIds: readonly string[] | null) => void): Promise<void> {
    this.#client.onReady(() => onHint(null));
    await this.#reaching(() =>
      this.#client.subscribe(`${this.#prefix}:hints`, (message) => {
        if (message.startsWith(this.#origin)) return;
        onHint(JSON.parse(message.slice(ORIGIN_LENGTH)) as readonly string[] | null);
      }),
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** By its hash; a server that does not know it, because it was restarted or is another, gets the text. */
  async #run(script: Script, operation: string, now: string, args: readonly string[]): Promise<unknown> {
    const call = ["EVALSHA", script.sha, "1", this.#prefix, operation, now, this.#origin, ...this.#place].concat(args);
    return await this.#reaching(async () => {
      try {
        return await this.#send(call);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await this.#send(["EVAL", script.text, ...call.slice(2)]);
      }
    });
  }

  #send(args: readonly string[]): Promise<unknown> {
    const send = () => this.#client.send(this.#prefix, args);
    return this.#silence === null ? send() : this.#silence.during(send);
  }

  async #reaching<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreError || error instanceof PawlError) throw error;
      throw storeErrorOf(error) ?? error;
    }
  }
}

function scriptOf(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/**
 * Whether a server that has something to answer says nothing.
 *
 * The client gives up a connection on which nothing has passed for a while, and what is sent counts as passing: one on which
 * something is sent again and again and nothing is heard would be kept for ever. So nothing more is sent on a silent one.
 */
export class SilenceGuard {
  readonly #now: () => number;
  readonly #msMax: number;
  #unanswered = 0;
  /** When the last answer came, or the first command went that has none. */
  #since = 0;

  constructor(now: () => number, msMax: number) {
    this.#now = now;
    this.#msMax = msMax;
  }

  async during<Result>(call: () => Promise<Result>): Promise<Result> {
    const now = this.#now();
    if (this.#unanswered === 0) this.#since = now;
    const ms = now - this.#since;
    if (ms > this.#msMax) {
      const text = `Redis has said nothing for ${ms} ms; the command was not sent`;
      throw new StoreError("STORE_UNAVAILABLE", "notApplied", text);
    }
    this.#unanswered += 1;
    try {
      return await call();
    } finally {
      this.#unanswered -= 1;
      this.#since = this.#now();
    }
  }
}

/** Words that an answer of the server begins with when it could not do its work for a while. Nothing was written. */
const BUSY = ["BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS"];
/** It can't write: its memory is used up, or its disk. */
const FULL = ["OOM", "MISCONF"];
/** The command was never sent. */
const UNSENT = ["ClientOfflineError", "ClientClosedError"];

/**
 * What a failed command means. An answer of the server is one: the script was refused before it wrote. A connection that broke
 * tells nothing: the script may have run. Null: neither, so it is a mistake of ours.
 */
export function storeErrorOf(cause: unknown): StoreError | null {
  if (!(cause instanceof Error)) return null;
  const { name } = cause.constructor;
  const word = cause.message.split(" ", 1)[0] ?? "";
  if (name === "SimpleError" || name === "BlobError" || name === "ErrorReply") {
    if (BUSY.includes(word)) return storeError("STORE_BUSY", "notApplied", cause);
    return FULL.includes(word) ? storeError("STORE_FULL", "notApplied", cause) : null;
  }
  return storeError("STORE_UNAVAILABLE", UNSENT.includes(name) ? "notApplied" : "unknown", cause);
}

function storeError(code: StoreError["code"], outcome: StoreError["outcome"], cause: Error): StoreError {
  return new StoreError(code, outcome, `Redis: ${cause.message || cause.constructor.name}`, { cause });
}

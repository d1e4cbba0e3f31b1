import { createHash } from "node:crypto";
import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { READ_SCRIPT, WRITE_SCRIPT } from "./script/script-text.ts";
import type { Silence } from "./silence.ts";
import { storeErrorOf } from "./store-error-of.ts";

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
 * X1. A command is sent once. When its connection breaks before the answer its outcome is unknown, and whoever sent it hears so.
 * X2. While there is no connection a command fails at once: nothing waits in a queue that nobody can look into.
 * X3. On a connection that is silent nothing is sent, so that the client gives it up.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #place: readonly string[];
  /** Tells this store's hints from those of others. */
  #origin = NO_ORIGIN;
  /** Null: whoever has made the store has another clock than connections. */
  #silence: Silence | null = null;

  constructor(client: RedisClient, prefix: string, place: Place) {
    this.#client = client;
    this.#prefix = prefix;
    this.#place = [String(place.index), String(place.count)];
  }

  async open(silence: Silence | null): Promise<void> {
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

import { createHash } from "node:crypto";
import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { storeErrorOf } from "./errors.ts";
import { READ_SCRIPT, WRITE_SCRIPT } from "./script/script.ts";

/** The part of `@redis/client` that the store uses, the same for one server and for a cluster. */
export interface RedisClient {
  connect(): Promise<unknown>;
  /** In a cluster, the key selects the node. */
  send(key: string, args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  /** Calls back when a lost connection is restored. Messages published meanwhile are lost. */
  onReady(listener: () => void): void;
  close(): Promise<unknown>;
}

interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Ids of runs that became ready, each group after its owner, and ids of runs that ended. The script encodes an empty list as `{}`. */
export type HintMessage = readonly [
  woken: readonly (readonly [owner: string | false, ...runIds: string[]])[] | object,
  ended: readonly string[] | object,
];

/** One partition of a store. */
interface Partition {
  readonly index: number;
  /** The number of partitions of the store. */
  readonly count: number;
}

/** Store numbers are padded to this length. */
const ORIGIN_LENGTH = 16;
const NO_ORIGIN = "0".repeat(ORIGIN_LENGTH);

const WRITE = scriptOf(WRITE_SCRIPT);
const READ = scriptOf(READ_SCRIPT);

/**
 * Sends scripts to one partition, and turns failures into store errors.
 *
 * 1. A command is sent once. If its connection breaks before the reply, the error has the outcome `unknown`.
 * 2. Without a connection a command fails at once. The client queues nothing.
 * 3. Nothing is sent on a silent connection, so that the client's timeout closes it (`SilenceGuard`).
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #partition: readonly string[];
  /** The number of this store. Hints begin with the number of their sender. */
  #origin = NO_ORIGIN;
  /** Null if the store uses the process clock, which may be virtual and does not measure connections. */
  #silence: SilenceGuard | null = null;

  constructor(client: RedisClient, prefix: string, partition: Partition) {
    this.#client = client;
    this.#prefix = prefix;
    this.#partition = [String(partition.index), String(partition.count)];
  }

  async open(silence: SilenceGuard | null): Promise<void> {
    this.#silence = silence;
    await this.#withStoreErrors(() => this.#client.connect());
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
    return this.#withStoreErrors(() => this.#send(args));
  }

  /** Reads a key of the whole store, which may be on another node than this partition. */
  get(key: string): Promise<unknown> {
    return this.#withStoreErrors(() => this.#send(["GET", key], key));
  }

  /** Calls back with the runs that other stores changed. Null means any run. */
  async listen(onHint: (changes: HintMessage | null) => void): Promise<void> {
    this.#client.onReady(() => onHint(null));
    await this.#withStoreErrors(() =>
      this.#client.subscribe(`${this.#prefix}:hints`, (message) => {
        if (message.startsWith(this.#origin)) return;
        onHint(JSON.parse(message.slice(ORIGIN_LENGTH)) as HintMessage | null);
      }),
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Runs a script by its hash. A server that does not have the script, for example after a restart, gets the text. */
  async #run(script: Script, operation: string, now: string, args: readonly string[]): Promise<unknown> {
    const call = ["EVALSHA", script.sha, "1", this.#prefix, operation, now, this.#origin, ...this.#partition].concat(
      args,
    );
    return await this.#withStoreErrors(async () => {
      try {
        return await this.#send(call);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await this.#send(["EVAL", script.text, ...call.slice(2)]);
      }
    });
  }

  #send(args: readonly string[], key = this.#prefix): Promise<unknown> {
    const send = () => this.#client.send(key, args);
    return this.#silence === null ? send() : this.#silence.during(send);
  }

  async #withStoreErrors<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof PawlError) throw error;
      throw storeErrorOf(error);
    }
  }
}

function scriptOf(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

/**
 * Rejects commands while the server does not reply.
 *
 * The client closes a connection that is idle for `silenceMs`, but each command that it sends counts as activity. So repeated commands
 * would keep a dead connection open forever. The guard stops sending, and the client's timeout ends the connection.
 */
export class SilenceGuard {
  readonly #now: () => number;
  readonly #msMax: number;
  #unanswered = 0;
  /** When the last reply arrived, or when the first of the unanswered commands was sent, whichever is later. */
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
      const text = `Redis has not replied for ${ms} ms; the command was not sent`;
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

import type { Wake } from "../../model/transition.ts";
import type { Hint, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { Database } from "./database.ts";
import type { PostgresClient } from "./driver.ts";

/** PostgreSQL limits a notification to 8,000 bytes. A longer hint is sent as null: anything may have changed. */
const HINT_BYTES_MAX = 7_500;
/** How many runs one hint names, and how many hints one statement sends. If there are more, one null hint is sent instead. */
const HINT_RUNS_MAX = 80;
const HINTS_MAX = 10;
/** How many runs without an owner a statement names. One would do, because each makes a worker claim whatever is due. */
const CLAIMABLE_MAX = 20;

const NOTIFY = "SELECT count(pg_notify($1, u.hint))::text AS json FROM unnest($2::text[]) AS u(hint)";

/** The payload of a notification: ids of woken runs, grouped by owner, and ids of runs that have ended. */
interface HintPayload {
  readonly woken: readonly (readonly [owner: string | null, ...runIds: string[]])[];
  readonly ended: readonly string[];
}

/** How often a lost connection is replaced. */
const RECONNECT_MS = 5_000;

/**
 * Sends hints to other processes and receives theirs, with NOTIFY and LISTEN. A hint may be lost while no connection listens: the next
 * poll finds the change. After a reconnect, listeners get a hint that anything may have changed.
 *
 * 1. A hint is sent after the commit that it is about, in a statement of its own: the server ends one notifying transaction at a time, so
 *    commits that notify would wait for each other's syncs. Nobody waits for a hint. Changes that arrive while one is being sent share
 *    the next.
 */
export class Notifications {
  readonly #database: Database;
  readonly #channel: string;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #client: PostgresClient | null = null;
  #connecting = false;
  #stop: (() => void) | null = null;
  #sender = "";
  #wakes: Wake[] = [];
  #ended: string[] = [];
  #sending: Promise<void> | null = null;

  constructor(database: Database, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  /** Sets the name by which this store recognizes and ignores its own hints. */
  setSender(sender: string): void {
    this.#sender = sender;
  }

  /** The payloads about these runs for all processes, this one included, because the caller commits them later. */
  messages(wakes: readonly Wake[], ended: readonly string[]): readonly string[] {
    return hintTexts("*", wakes, ended);
  }

  /** Sends a hint about committed changes to other processes, soon. It may be lost. */
  send(wakes: readonly Wake[], ended: readonly string[]): void {
    if (wakes.length + ended.length === 0) return;
    this.#wakes.push(...wakes);
    this.#ended.push(...ended);
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
  }

  /** Resolves when no hint is being sent. */
  async sent(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#wakes.length + this.#ended.length > 0) {
      const texts = hintTexts(this.#sender, this.#wakes, this.#ended);
      this.#wakes = [];
      this.#ended = [];
      try {
        await this.#database.call(NOTIFY, [this.#channel, texts]);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
    }
  }

  watch(world: StoreWorld, listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    if (this.#stop === null) {
      this.#stop = world.every(RECONNECT_MS, () => void this.#connect());
      void this.#connect();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#stop?.();
    this.#stop = null;
    this.#listeners.clear();
    const client = this.#client;
    this.#client = null;
    // Closed instead of returned to the pool, where it would still listen.
    client?.release(new Error("no longer listening"));
  }

  async #connect(): Promise<void> {
    if (this.#client !== null || this.#connecting) return;
    this.#connecting = true;
    try {
      const client = await this.#database.acquire();
      client.on("notification", ({ payload }) => this.#onNotification(payload ?? ""));
      client.on("error", () => this.#onConnectionLost(client));
      client.on("end", () => this.#onConnectionLost(client));
      await this.#listen(client);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    } finally {
      this.#connecting = false;
    }
  }

  async #listen(client: PostgresClient): Promise<void> {
    try {
      await client.query(`LISTEN "${this.#channel}"`);
    } catch (error) {
      client.release(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (this.#stop === null) {
      client.release(new Error("no longer listening"));
      return;
    }
    this.#client = client;
    this.#notifyListeners({ runIds: null });
  }

  #onConnectionLost(client: PostgresClient): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.release(new Error("the connection is lost"));
  }

  #onNotification(payload: string): void {
    const space = payload.indexOf(" ");
    if (payload.slice(0, space) === this.#sender) return;
    const hint = JSON.parse(payload.slice(space + 1)) as HintPayload | null;
    this.#notifyListeners(hint === null ? { runIds: null } : hintOf(hint));
  }

  #notifyListeners(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }
}

/** Splits the runs into hints that each fit into a notification. */
function hintTexts(sender: string, all: readonly Wake[], ended: readonly string[]): readonly string[] {
  if (all.length + ended.length === 0) return [];
  let claimable = 0;
  const wakes = all.filter(({ owner }) => {
    if (owner === null) claimable += 1;
    return owner !== null || claimable <= CLAIMABLE_MAX;
  });
  const texts: string[] = [];
  for (let first = 0; first < Math.max(wakes.length, ended.length); first += HINT_RUNS_MAX) {
    const last = first + HINT_RUNS_MAX;
    const text = `${sender} ${JSON.stringify(payloadOf(wakes.slice(first, last), ended.slice(first, last)))}`;
    if (texts.length === HINTS_MAX || Buffer.byteLength(text) > HINT_BYTES_MAX) return [`${sender} null`];
    texts.push(text);
  }
  return texts;
}

/** Groups runs by owner, because there are few owners. */
function payloadOf(wakes: readonly Wake[], ended: readonly string[]): HintPayload {
  const byOwner = new Map<string | null, string[]>();
  for (const { runId, owner } of wakes) {
    const runIds = byOwner.get(owner);
    if (runIds === undefined) byOwner.set(owner, [runId]);
    else runIds.push(runId);
  }
  return { woken: [...byOwner].map(([owner, runIds]) => [owner, ...runIds]), ended };
}

function hintOf({ woken, ended }: HintPayload): Hint {
  return {
    runIds: woken.flatMap(([, ...runIds]) => runIds),
    owners: woken.flatMap(([owner, ...runIds]) => runIds.map(() => owner)),
    ended,
  };
}

/** The channel of a schema, shortened to what the server allows. */
export function channelOf(schema: string): string {
  return `pawl ${schema}`.replaceAll('"', "").slice(0, 60);
}

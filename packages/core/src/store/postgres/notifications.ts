import type { Wake } from "../../model/transition.ts";
import type { Hint, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { Database } from "./database.ts";
import type { PostgresClient } from "./driver.ts";

/** PostgreSQL limits a notification to 8,000 bytes. A longer hint is sent as null: anything may have changed. */
const HINT_BYTES_MAX = 7_500;

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
 */
export class Notifications {
  readonly #database: Database;
  readonly #channel: string;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #client: PostgresClient | null = null;
  #connecting = false;
  #stop: (() => void) | null = null;
  #sender = "";

  constructor(database: Database, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  /** Sets the name by which this store recognizes and ignores its own hints. */
  setSender(sender: string): void {
    this.#sender = sender;
  }

  /** Returns the payloads for these runs. With `all`, this process receives them too, because the caller commits them later. */
  messages(wakes: readonly Wake[], ended: readonly string[], audience: "others" | "all"): readonly string[] {
    if (wakes.length + ended.length === 0) return [];
    const sender = audience === "all" ? "*" : this.#sender;
    const text = `${sender} ${JSON.stringify(payloadOf(wakes, ended))}`;
    return [Buffer.byteLength(text) > HINT_BYTES_MAX ? `${sender} null` : text];
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

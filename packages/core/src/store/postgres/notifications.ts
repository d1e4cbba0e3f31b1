import type { Wake } from "../../model/transition.ts";
import type { Hint, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import type { Database } from "./database.ts";
import type { PostgresClient } from "./driver.ts";

/** A notification holds less than 8,000 bytes. What has more to say says that anything may have changed. */
const HINT_BYTES_MAX = 7_500;

/** What a notification says: ids of runs that were woken, after the one of their owner or null, and of runs that have ended. */
interface Told {
  readonly woken: readonly (readonly [owner: string | null, ...runIds: string[]])[];
  readonly ended: readonly string[];
}

/** How often it is looked whether the connection that listens is there. */
const LOOK_MS = 5_000;

/**
 * What processes tell each other: ids of runs, over a connection that listens. Only a hint: whatever is lost while there is no
 * connection is found by the next poll, and when there is one again, listeners look at once.
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

  /** The name by which this store knows what it has said itself. */
  introduce(sender: string): void {
    this.#sender = sender;
  }

  /** What to send for these runs; to whom: other processes, or this one too, which then hears of what a caller commits. */
  messages(wakes: readonly Wake[], ended: readonly string[], audience: "others" | "all"): readonly string[] {
    if (wakes.length + ended.length === 0) return [];
    const sender = audience === "all" ? "*" : this.#sender;
    const text = `${sender} ${JSON.stringify(toldOf(wakes, ended))}`;
    return [Buffer.byteLength(text) > HINT_BYTES_MAX ? `${sender} null` : text];
  }

  watch(world: StoreWorld, listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    if (this.#stop === null) {
      this.#stop = world.every(LOOK_MS, () => void this.#connect());
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
    // Closed, not given back: whoever used it next would go on listening.
    client?.release(new Error("no longer listening"));
  }

  async #connect(): Promise<void> {
    if (this.#client !== null || this.#connecting) return;
    this.#connecting = true;
    try {
      const client = await this.#database.keep();
      client.on("notification", ({ payload }) => this.#heard(payload ?? ""));
      client.on("error", () => this.#lost(client));
      client.on("end", () => this.#lost(client));
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
    this.#tell({ runIds: null });
  }

  #lost(client: PostgresClient): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.release(new Error("the connection is lost"));
  }

  #heard(payload: string): void {
    const space = payload.indexOf(" ");
    if (payload.slice(0, space) === this.#sender) return;
    const told = JSON.parse(payload.slice(space + 1)) as Told | null;
    this.#tell(told === null ? { runIds: null } : hintOf(told));
  }

  #tell(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }
}

/** Owners are few: each is named once. */
function toldOf(wakes: readonly Wake[], ended: readonly string[]): Told {
  const byOwner = new Map<string | null, string[]>();
  for (const { runId, owner } of wakes) {
    const runIds = byOwner.get(owner);
    if (runIds === undefined) byOwner.set(owner, [runId]);
    else runIds.push(runId);
  }
  return { woken: [...byOwner].map(([owner, runIds]) => [owner, ...runIds]), ended };
}

function hintOf({ woken, ended }: Told): Hint {
  return {
    runIds: woken.flatMap(([, ...runIds]) => runIds),
    owners: woken.flatMap(([owner, ...runIds]) => runIds.map(() => owner)),
    ended,
  };
}

/** The name that hints go by: of a schema's own, in the length that the server takes. */
export function channelOf(schema: string): string {
  return `pawl ${schema}`.replaceAll('"', "").slice(0, 60);
}

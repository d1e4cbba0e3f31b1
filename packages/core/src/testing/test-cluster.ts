import { type Client, type ClientOptions, createClient } from "../engine/client.ts";
import type { EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { RunHandle } from "../engine/run-handle.ts";
import { isTerminal } from "../model/run.ts";
import type { Log, LogLevel } from "../runtime/log.ts";
import type { Processes } from "../runtime/processes.ts";
import type { Store } from "../store/store.ts";
import { type CrashAt, type Crashable, crashable } from "./crashable.ts";
import { intercepted } from "./intercepted.ts";
import { type VirtualWorld, virtualWorld } from "./virtual-world.ts";

/** Data that no other cluster uses, and stores over it. */
export interface ClusterStore {
  /** Creates a store over the data, as another process would. */
  connect(): Store;
  /** True if replies come from outside this process. */
  readonly isRemote?: boolean;
  /** The default options of every engine of the cluster. */
  readonly engine?: Pick<EngineOptions, "hotRuns">;
  dispose?(): Promise<void>;
}

export interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** After this time other workers have taken over the runs of a crashed worker. */
const TAKE_OVER = "6 s";
const SECONDS_MAX = 500;

type ClusterEngineOptions = Omit<EngineOptions, "store" | "world"> & {
  readonly crashAt?: CrashAt;
  /** Wraps the store of the engine. */
  readonly through?: (store: Store) => Store;
  /** The processes of its host, as the engine sees them. Default: none. */
  readonly processes?: Processes;
};

type ClusterClientOptions = Omit<ClientOptions, "store" | "world"> & Pick<ClusterEngineOptions, "through">;

/**
 * Keeps the world from settling while a call of a remote store is in progress. Drops hints, because they arrive at times that virtual
 * time does not control.
 */
function awaitedByWorld(store: Store, world: VirtualWorld): Store {
  const awaited = intercepted(store, async (_call, proceed) => {
    const release = world.hold();
    try {
      return await proceed();
    } finally {
      release();
    }
  });
  return { ...awaited, watch: () => () => undefined };
}

/** A virtual world, a database and engines over it, which tests crash, stop and start again. */
export class TestCluster {
  readonly world: VirtualWorld = virtualWorld();
  readonly log: LogLine[] = [];
  readonly #data: ClusterStore;
  readonly #engines = new Map<Engine, Crashable>();
  readonly #clients: Client[] = [];
  /** All stores, to close them: a crashed process does not close its store. */
  readonly #stores: Store[] = [];

  constructor(data: ClusterStore) {
    this.#data = data;
  }

  async engine(options: ClusterEngineOptions = {}): Promise<Engine> {
    const { crashAt, through, processes = null, ...rest } = options;
    const connected = this.#connect();
    const process = crashable(through === undefined ? connected : through(connected), crashAt);
    const engine = await createEngine({
      lease: "3 s",
      log: (level, text, fields) => this.log.push({ level, text, fields }),
      ...this.#data.engine,
      ...rest,
      store: process.store,
      world: { ...process.inWorld(this.world), processes },
    });
    this.#engines.set(engine, process);
    return engine;
  }

  /** Creates a client: a process without a worker. */
  async client(options: ClusterClientOptions = {}): Promise<Client> {
    const { through = (store) => store, ...rest } = options;
    const store = through(this.#connect());
    const log: Log = (level, text, fields) => this.log.push({ level, text, fields });
    const client = await createClient({ log, ...rest, store, world: this.world });
    this.#clients.push(client);
    return client;
  }

  /** Creates a store over the same data. The caller closes it. */
  connect(): Store {
    return this.#data.connect();
  }

  /** Crashes the process of an engine. */
  crash(engine: Engine): void {
    this.#engines.get(engine)?.crash();
  }

  crashed(engine: Engine): boolean {
    return this.#engines.get(engine)?.crashed ?? false;
  }

  commits(engine: Engine): number {
    return this.#engines.get(engine)?.commits ?? 0;
  }

  /** Crashes an engine, starts another one, and lets the time pass after which it has taken over. */
  async takeOver(crashed: Engine, options: ClusterEngineOptions): Promise<Engine> {
    this.crash(crashed);
    const successor = await this.engine(options);
    await this.world.advance(TAKE_OVER);
    return successor;
  }

  /** The result of a run that has ended or ends before any time passes. */
  async result<Output>(run: RunHandle<Output>): Promise<Output> {
    await this.world.settle();
    const status = await run.status();
    if (!isTerminal(status)) throw new Error(`run ${run.id} is ${status} after the world settled; it must have ended`);
    return await run.result();
  }

  /** The error that the result of the run rejects with. */
  async failure(run: RunHandle): Promise<Error & { readonly code?: unknown }> {
    const error = await this.result(run).then(
      (value) => new Error(`run ${run.id} completed with ${String(value)}`),
      (reason: unknown) => reason as Error,
    );
    return error;
  }

  /** Advances the time by one second at a time until the run has ended. Calls `each` before each second. */
  async finish<Output>(run: RunHandle<Output>, each?: () => Promise<void>): Promise<Output> {
    for (let second = 0; second < SECONDS_MAX; second += 1) {
      await this.world.settle();
      await each?.();
      if (isTerminal(await run.status())) return await this.result(run);
      await this.world.advance("1 s");
    }
    throw new Error(`run ${run.id} is ${await run.status()} after ${SECONDS_MAX} seconds`);
  }

  /** Deletes expired events only. */
  async prune(): Promise<void> {
    await this.#stores[0]?.prune({ runsEndedBefore: null, receivedBefore: null, limit: 1_000 });
  }

  /** All stored rows as text. */
  async dump(): Promise<string> {
    const [store] = this.#stores;
    if (store === undefined) return "";
    const { reader } = store;
    const page = { limit: 1_000 };
    const { items: runs } = await reader.list(page);
    const parts: unknown[] = [runs, await reader.deadLetters(page)];
    for (const { id } of runs) {
      parts.push(await reader.journal(id, { afterSeq: 0, limit: 1_000 }), await reader.inbox(id));
    }
    return JSON.stringify(parts);
  }

  #connect(): Store {
    const store = this.#data.isRemote ? awaitedByWorld(this.#data.connect(), this.world) : this.#data.connect();
    this.#stores.push(store);
    return store;
  }

  /** Stops all engines without draining, closes all stores and deletes the data. */
  async close(): Promise<void> {
    for (const [engine, process] of this.#engines) {
      if (process.crashed) continue;
      const stopped = engine.shutdown({ drainMs: 0 });
      await this.world.advance("1 s");
      await stopped;
    }
    for (const client of this.#clients) await client.close();
    for (const store of this.#stores) await store.close();
    await this.#data.dispose?.();
  }
}

import { type Client, type ClientOptions, createClient } from "../engine/client.ts";
import type { EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { RunHandle } from "../engine/run-handle.ts";
import { isTerminal } from "../model/run.ts";
import type { Log, LogLevel } from "../runtime/log.ts";
import type { Store } from "../store/store.ts";
import { type CrashAt, type Crashable, crashable } from "./crashable.ts";
import { intercepted } from "./intercepted.ts";
import { type VirtualWorld, virtualWorld } from "./virtual-world.ts";

/** Data of its own, and stores over it: each as another process would have it. */
export interface ClusterStore {
  connect(): Store;
  /** Whether its answers come from outside this process. */
  readonly isRemote?: boolean;
  /** For every engine of the cluster that does not say otherwise. */
  readonly engine?: Pick<EngineOptions, "hotRuns">;
  dispose?(): Promise<void>;
}

export interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Long enough for others to take the runs of a worker that has crashed. */
const TAKE_OVER = "6 s";
const ROUNDS_MAX = 500;

type StageEngineOptions = Omit<EngineOptions, "store" | "world"> & {
  readonly crashAt?: CrashAt;
  /** Stands between the engine and its store. */
  readonly through?: (store: Store) => Store;
};

type StageClientOptions = Omit<ClientOptions, "store" | "world"> & Pick<StageEngineOptions, "through">;

/** A store elsewhere: the world is not at rest while an answer is on its way. Hints come when they come, so there are none. */
function awaited(store: Store, world: VirtualWorld): Store {
  const through = intercepted(store, async (_call, proceed) => {
    const release = world.hold();
    try {
      return await proceed();
    } finally {
      release();
    }
  });
  return { ...through, watch: () => () => undefined };
}

/** One world, one database, and the engines that work on it: to be crashed, stopped and started again. */
export class TestCluster {
  readonly world: VirtualWorld = virtualWorld();
  readonly log: LogLine[] = [];
  readonly #data: ClusterStore;
  readonly #engines = new Map<Engine, Crashable>();
  readonly #clients: Client[] = [];
  /** Every connection; a process that has crashed closes none. */
  readonly #stores: Store[] = [];

  constructor(data: ClusterStore) {
    this.#data = data;
  }

  async engine(options: StageEngineOptions = {}): Promise<Engine> {
    const { crashAt, through, ...rest } = options;
    const connected = this.#connect();
    const process = crashable(through === undefined ? connected : through(connected), crashAt);
    const engine = await createEngine({
      lease: "3 s",
      log: (level, text, fields) => this.log.push({ level, text, fields }),
      ...this.#data.engine,
      ...rest,
      store: process.store,
      world: process.inWorld(this.world),
    });
    this.#engines.set(engine, process);
    return engine;
  }

  /** A process without a worker. */
  async client(options: StageClientOptions = {}): Promise<Client> {
    const { through = (store) => store, ...rest } = options;
    const store = through(this.#connect());
    const log: Log = (level, text, fields) => this.log.push({ level, text, fields });
    const client = await createClient({ log, ...rest, store, world: this.world });
    this.#clients.push(client);
    return client;
  }

  /** A store over the same data, as another process has it; who asks for it closes it. */
  connect(): Store {
    return this.#data.connect();
  }

  /** The engine's process ends without a word. */
  crash(engine: Engine): void {
    this.#engines.get(engine)?.crash();
  }

  crashed(engine: Engine): boolean {
    return this.#engines.get(engine)?.crashed ?? false;
  }

  commits(engine: Engine): number {
    return this.#engines.get(engine)?.commits ?? 0;
  }

  /** Crashes one and gives another time to take its runs over. */
  async takeOver(dead: Engine, options: StageEngineOptions): Promise<Engine> {
    this.crash(dead);
    const heir = await this.engine(options);
    await this.world.advance(TAKE_OVER);
    return heir;
  }

  /** The result of a run that has ended, or comes to its end without any time passing. */
  async result<Output>(run: RunHandle<Output>): Promise<Output> {
    await this.world.settle();
    const status = await run.status();
    if (!isTerminal(status)) throw new Error(`run ${run.id} is ${status} when everything has come to rest`);
    return await run.result();
  }

  /** What the run's result is rejected with. */
  async failure(run: RunHandle): Promise<Error & { readonly code?: unknown }> {
    const error = await this.result(run).then(
      (value) => new Error(`run ${run.id} completed with ${String(value)}`),
      (reason: unknown) => reason as Error,
    );
    return error;
  }

  /** Lets time pass, a second at a time, until the run has ended. `each` is called before each second. */
  async finish<Output>(run: RunHandle<Output>, each?: () => Promise<void>): Promise<Output> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.world.settle();
      await each?.();
      if (isTerminal(await run.status())) return await this.result(run);
      await this.world.advance("1 s");
    }
    throw new Error(`run ${run.id} is ${await run.status()} after ${ROUNDS_MAX} seconds`);
  }

  /** Removes nothing but what has expired, as the retention of events does. */
  async prune(): Promise<void> {
    await this.#stores[0]?.prune({ runsEndedBefore: null, receivedBefore: null, limit: 1_000 });
  }

  /** Everything that is stored, as text. */
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
    const store = this.#data.isRemote ? awaited(this.#data.connect(), this.world) : this.#data.connect();
    this.#stores.push(store);
    return store;
  }

  /** Ends everything, whatever is under way. */
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

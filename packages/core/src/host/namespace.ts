import { ENGINE_KINDS, type EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import { PawlError } from "../model/errors.ts";
import { kinds, type OptionKinds } from "../model/option-check.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import { KvStore } from "../store/kv/kv-store.ts";

/** Engines of a host need no polls: every call passes through the process that has the namespace, and deadlines are alarms. */
const POLL = "1 hour";

export type NamespaceOptions = Omit<EngineOptions, "store" | "poll">;

const { store: _store, poll: _poll, ...NAMESPACE } = ENGINE_KINDS;

/** The kinds of these options, for each table that has them. */
export const NAMESPACE_KINDS = NAMESPACE satisfies OptionKinds<NamespaceOptions>;

export const KV_DRIVER = kinds.withMethods(
  "a driver of the host's storage",
  "get",
  "set",
  "delete",
  "deletePrefix",
  "list",
  "batch",
  "setAlarm",
  "clearAlarm",
);

/** An open engine on a namespace. */
export interface OpenEngine {
  readonly engine: Engine;
  readonly store: KvStore;
}

/**
 * The access of this process to a namespace.
 *
 * 1. At most one engine is open at a time. Calls use the engine that executes the run, if there is one.
 * 2. Opening, closing, and calls without an open engine run one after another.
 */
export class Namespace {
  readonly #driver: KvDriver;
  readonly #runId: string;
  #executing: OpenEngine | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(driver: KvDriver, runId: string) {
    this.#driver = driver;
    this.#runId = runId;
  }

  get isOpen(): boolean {
    return this.#executing !== null;
  }

  /** Opens the namespace to execute the run. The caller must call `close`. Other calls wait until `start` has returned. */
  open(options: NamespaceOptions, start: (opened: OpenEngine) => Promise<void>): Promise<OpenEngine> {
    return this.#enqueue(async () => {
      if (this.#executing !== null) {
        throw new PawlError(
          "RUN_HOSTED",
          `run ${this.#runId} is already being executed in this process; use its handle, or evict it first`,
        );
      }
      const opened = await this.#create(options);
      try {
        await start(opened);
      } catch (error) {
        await opened.engine.shutdown({ drainMs: 0 });
        throw error;
      }
      this.#executing = opened;
      return opened;
    });
  }

  /** Gives running steps `drainMs` to complete, releases the runs, and closes the engine. */
  close(opened: OpenEngine, drainMs: number): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#executing === opened) this.#executing = null;
      await opened.engine.shutdown({ drainMs });
    });
  }

  /** Calls `action` with the engine that executes the run, or with one that is opened for this call and executes nothing. */
  async use<Answer>(action: (engine: Engine) => Promise<Answer>, options: NamespaceOptions): Promise<Answer> {
    if (this.#executing !== null) return await action(this.#executing.engine);
    return await this.#enqueue(async () => {
      if (this.#executing !== null) return await action(this.#executing.engine);
      const { engine } = await this.#create({ ...options, workflows: [] });
      try {
        return await action(engine);
      } finally {
        await engine.shutdown({ drainMs: 0 });
      }
    });
  }

  async #create(options: NamespaceOptions): Promise<OpenEngine> {
    const store = new KvStore(this.#driver, this.#runId);
    // The host decides which process has the namespace.
    const world = { ...options.world, processes: null };
    return { store, engine: await createEngine({ ...options, world, poll: POLL, store }) };
  }

  #enqueue<T>(call: () => Promise<T>): Promise<T> {
    const answer = this.#queue.then(call);
    this.#queue = answer.catch(() => undefined);
    return answer;
  }
}

const NAMESPACES = new WeakMap<KvDriver, Namespace>();

/** Returns the namespace of a driver. The same driver always has the same namespace. */
export function namespaceOf(driver: KvDriver, runId: string): Namespace {
  const known = NAMESPACES.get(driver);
  if (known !== undefined) return known;
  const namespace = new Namespace(driver, runId);
  NAMESPACES.set(driver, namespace);
  return namespace;
}

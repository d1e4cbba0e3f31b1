import type { EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import { PawlError } from "../model/errors.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import { KvStore } from "../store/kv/kv-store.ts";

/** Engines of a host never look around by themselves: whoever has the namespace is told of everything, and time is the alarm's. */
const POLL = "1 hour";

export type NamespaceOptions = Omit<EngineOptions, "store" | "poll">;

/** An engine at work on a namespace. */
export interface Opened {
  readonly engine: Engine;
  readonly store: KvStore;
}

/**
 * Who has a namespace.
 *
 * 1. At most one engine is open on it at a time in this process. One that works is shared with those who only ask.
 * 2. Opening, closing and asking without an open engine happen one after the other.
 */
export class Namespace {
  readonly #driver: KvDriver;
  readonly #runId: string;
  #working: Opened | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(driver: KvDriver, runId: string) {
    this.#driver = driver;
    this.#runId = runId;
  }

  get isOpen(): boolean {
    return this.#working !== null;
  }

  /** Opens it for work; whoever does that closes it. Nobody else asks before `begin` is done. */
  open(options: NamespaceOptions, begin: (opened: Opened) => Promise<void>): Promise<Opened> {
    return this.#inTurn(async () => {
      if (this.#working !== null) {
        throw new PawlError(
          "RUN_HOSTED",
          `run ${this.#runId} is at work in this process already; use the handle that you have, or evict it first`,
        );
      }
      const opened = await this.#create(options);
      try {
        await begin(opened);
      } catch (error) {
        await opened.engine.shutdown({ drainMs: 0 });
        throw error;
      }
      this.#working = opened;
      return opened;
    });
  }

  /** Lets work end for `drainMs`, gives back what is left, and lets go of the namespace. */
  close(opened: Opened, drainMs: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#working === opened) this.#working = null;
      await opened.engine.shutdown({ drainMs });
    });
  }

  /** Asks the engine that works here, or one that is opened for this question alone and does no work. */
  async ask<Answer>(question: (engine: Engine) => Promise<Answer>, options: NamespaceOptions): Promise<Answer> {
    if (this.#working !== null) return await question(this.#working.engine);
    return await this.#inTurn(async () => {
      if (this.#working !== null) return await question(this.#working.engine);
      const { engine } = await this.#create({ ...options, workflows: [] });
      try {
        return await question(engine);
      } finally {
        await engine.shutdown({ drainMs: 0 });
      }
    });
  }

  async #create(options: NamespaceOptions): Promise<Opened> {
    const store = new KvStore(this.#driver, this.#runId);
    return { store, engine: await createEngine({ ...options, poll: POLL, store }) };
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const answer = this.#queue.then(call);
    this.#queue = answer.catch(() => undefined);
    return answer;
  }
}

const NAMESPACES = new WeakMap<KvDriver, Namespace>();

/** The namespace behind a driver: the same for all who have it. */
export function namespaceOf(driver: KvDriver, runId: string): Namespace {
  const known = NAMESPACES.get(driver);
  if (known !== undefined) return known;
  const namespace = new Namespace(driver, runId);
  NAMESPACES.set(driver, namespace);
  return namespace;
}

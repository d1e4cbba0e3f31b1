import { PawlError } from "../model/errors.ts";
import { read, textOf } from "../model/payload-values.ts";
import type { RunFacts } from "../model/run.ts";
import { EMPTY_CONTEXT } from "../runtime/async-context.ts";
import type { Resource, ResourceRequest } from "../workflow/resource-options.ts";
import type { ResourceReleases } from "./resource-releases.ts";
import { decideRetry } from "./retry-decision.ts";
import type { SessionServices } from "./session-ports.ts";
import { abortIn } from "./step-attempt.ts";

interface HeldResource {
  readonly request: ResourceRequest;
  /** Null if it is not acquired. */
  current: { readonly value: unknown } | null;
  settled: boolean;
}

/**
 * The resources of a run.
 *
 * 1. One operation at a time: resources are acquired in the order of request and released in reverse.
 * 2. The program receives nothing while a resource is missing. So the acquire time does not change what the program observes.
 * 3. Every acquired resource is released, even if the run no longer needs it when `acquire` returns.
 */
export class Resources {
  readonly #services: SessionServices;
  readonly #run: RunFacts;
  readonly #onChange: () => void;
  readonly #all: HeldResource[] = [];
  #wanted = true;
  #busy = false;
  #failure: PawlError | null = null;
  /** Aborts a running `acquire`. */
  #controller: AbortController | null = null;
  #endPause: (() => void) | null = null;

  /** `onChange` is called when `prepare` should be called again. */
  constructor(services: SessionServices, run: RunFacts, onChange: () => void) {
    this.#services = services;
    this.#run = run;
    this.#onChange = onChange;
  }

  /** Set if a resource finally could not be acquired. */
  get failure(): PawlError | null {
    return this.#failure;
  }

  add(request: ResourceRequest): void {
    const current = this.#services.releases === null ? { value: INERT_RESOURCE } : null;
    this.#all.push({ request, current, settled: false });
    this.#onChange();
  }

  /**
   * Called while the program is idle. Returns true if it can be driven. Otherwise acquires missing resources, or delivers new
   * ones.
   */
  prepare(): boolean {
    if (this.#all.length === 0) return true;
    if (this.#failure === null && this.#all.some(({ current }) => current === null)) {
      this.#wanted = true;
      this.#work();
      return false;
    }
    const fresh = this.#all.filter(({ settled }) => !settled);
    for (const held of fresh) {
      held.settled = true;
      held.request.settle(this.#resourceOf(held));
    }
    if (fresh.length > 0) this.#onChange();
    return fresh.length === 0;
  }

  /** Called when the run is suspended, ends or leaves this worker. */
  releaseAll(): void {
    if (this.#all.length === 0) return;
    this.#wanted = false;
    const reason = new PawlError("RUN_CANCELLED", `run ${this.#run.id} no longer needs the resource`);
    if (this.#controller !== null) abortIn(EMPTY_CONTEXT, this.#controller, reason);
    this.#endPause?.();
    this.#work();
  }

  #work(): void {
    const { releases } = this.#services;
    if (this.#busy || releases === null) return;
    this.#busy = true;
    releases.track(this.#doWork(releases));
  }

  async #doWork(releases: ResourceReleases): Promise<void> {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      if (this.#wanted) await this.#acquire(next);
      else await this.#release(next, releases);
    }
    this.#busy = false;
    if (this.#wanted) this.#onChange();
  }

  #next(): HeldResource | null {
    const found = this.#wanted
      ? this.#failure === null && this.#all.find(({ current }) => current === null)
      : this.#all.findLast(({ current }) => current !== null);
    return found === false || found === undefined ? null : found;
  }

  async #acquire(held: HeldResource): Promise<void> {
    const { request } = held;
    for (let attempt = 1; this.#wanted; attempt += 1) {
      try {
        const controller = new AbortController();
        this.#controller = controller;
        held.current = {
          value: await this.#call(request, () => request.acquire({ attempt, signal: controller.signal })),
        };
        return;
      } catch (error) {
        if (!this.#wanted) return;
        const delayMs = await this.#nextDelayMs(request, error, attempt);
        if (delayMs === null) {
          const message = `cannot acquire resource ${request.name} of run ${this.#run.id}: ${attempt} attempts failed`;
          this.#failure = new PawlError("RESOURCE_UNAVAILABLE", message, { cause: error });
          return;
        }
        await this.#pause(delayMs);
      }
    }
  }

  async #release(held: HeldResource, releases: ResourceReleases): Promise<void> {
    const value = held.current?.value;
    try {
      await this.#call(held.request, () => held.request.release(value));
    } catch (error) {
      releases.failed(this.#run, held.request.name, error);
    }
    held.current = null;
  }

  /** Returns null if the failure is final. */
  async #nextDelayMs(request: ResourceRequest, thrown: unknown, attempt: number): Promise<number | null> {
    const { retry, name } = request;
    const code = typeof thrown === "object" && thrown !== null ? read(thrown, "code") : undefined;
    if (code === "CRITICAL" || attempt >= retry.maxAttempts) return null;
    const { shouldRetry, delay } = retry;
    const failed = { thrown, attempt, random01: this.#services.random.next() };
    const onFailure = (callback: string, error: unknown): void =>
      this.#services.log("warn", "retry callback of a resource threw", {
        run: this.#run.id,
        resource: name,
        callback,
        error: textOf(error),
      });
    const decide = (): Promise<number | null> => decideRetry({ policy: retry, shouldRetry, delay }, failed, onFailure);
    return (await this.#call(request, decide)) as number | null;
  }

  /** Calls user code so that its unhandled rejections are attributed to the run. */
  #call({ context }: ResourceRequest, call: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        try {
          resolve(call());
        } catch (error) {
          reject(error);
        }
      };
      this.#services.rejections.watched(this.#run.id, settle, context);
    });
  }

  #pause(ms: number): Promise<void> {
    const { clock } = this.#services.time;
    return new Promise((resolve) => {
      const cancel = clock.wakeAt(clock.now() + ms, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  #resourceOf(held: HeldResource): Resource<unknown> {
    const { name } = held.request;
    const runId = this.#run.id;
    return {
      name,
      get value() {
        if (held.current !== null) return held.current.value;
        throw new PawlError(
          "RESOURCE_UNAVAILABLE",
          `resource ${name} of run ${runId} is not acquired; use it only inside steps`,
        );
      },
    };
  }
}

/**
 * Stands for a resource in a dry run, where nothing is acquired. Code may read its properties and call it; each result is the same
 * object.
 */
const INERT_RESOURCE: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === "then" ? undefined : key === Symbol.toPrimitive ? () => "" : INERT_RESOURCE),
  apply: () => INERT_RESOURCE,
});

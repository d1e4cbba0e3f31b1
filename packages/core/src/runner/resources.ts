import { PawlError } from "../model/errors.ts";
import { toError, toFailure } from "../model/failure.ts";
import { retryDelayMs } from "../model/retry.ts";
import type { RunFacts } from "../model/run.ts";
import type { Resource, ResourceRequest } from "../workflow/resource.ts";
import type { ResourceReleases } from "./resource-releases.ts";
import type { SessionServices } from "./session-ports.ts";

interface Held {
  readonly request: ResourceRequest;
  /** Null: it is not held. */
  current: { readonly value: unknown } | null;
  settled: boolean;
}

/**
 * What a run holds while it is worked on.
 *
 * 1. One thing is done at a time: acquired in the order in which the program asked, released in the reverse order.
 * 2. While something is missing the program gets nothing, so when it gets a resource does not depend on how long that took.
 * 3. Whatever was acquired is released, also when nobody wants it any more by the time it is there.
 */
export class Resources {
  readonly #services: SessionServices;
  readonly #run: RunFacts;
  readonly #onChange: () => void;
  readonly #all: Held[] = [];
  #wanted = true;
  #busy = false;
  #failure: PawlError | null = null;
  /** Ends what is waited for in an attempt to acquire. */
  #controller: AbortController | null = null;
  #endPause: (() => void) | null = null;

  /** `onChange` is called when it is worth while to `look` again. */
  constructor(services: SessionServices, run: RunFacts, onChange: () => void) {
    this.#services = services;
    this.#run = run;
    this.#onChange = onChange;
  }

  /** Why something could not be acquired, for good. */
  get failure(): PawlError | null {
    return this.#failure;
  }

  add(request: ResourceRequest): void {
    const current = this.#services.releases === null ? { value: INERT_RESOURCE } : null;
    this.#all.push({ request, current, settled: false });
    this.#onChange();
  }

  /** The program is at rest: true, if it may be moved on. Else what is missing is acquired, or was handed to it. */
  look(): boolean {
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

  /** The run is not worked on any more, or not for now. */
  letGo(): void {
    if (this.#all.length === 0) return;
    this.#wanted = false;
    this.#controller?.abort(new PawlError("RUN_CANCELLED", `run ${this.#run.id} does not need the resource any more`));
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

  #next(): Held | null {
    const found = this.#wanted
      ? this.#failure === null && this.#all.find(({ current }) => current === null)
      : this.#all.findLast(({ current }) => current !== null);
    return found === false || found === undefined ? null : found;
  }

  async #acquire(held: Held): Promise<void> {
    const { request } = held;
    for (let attempt = 1; this.#wanted; attempt += 1) {
      try {
        const controller = new AbortController();
        this.#controller = controller;
        held.current = { value: await this.#call(() => request.acquire({ attempt, signal: controller.signal })) };
        return;
      } catch (error) {
        if (!this.#wanted) return;
        if (this.#isFinal(request, error, attempt)) {
          const message = `resource ${request.name} of run ${this.#run.id} could not be acquired (${attempt} tries)`;
          this.#failure = new PawlError("RESOURCE_UNAVAILABLE", message, { cause: error });
          return;
        }
        await this.#pause(retryDelayMs(request.retry, attempt, this.#services.random.next()));
      }
    }
  }

  async #release(held: Held, releases: ResourceReleases): Promise<void> {
    const value = held.current?.value;
    try {
      await this.#call(() => held.request.release(value));
    } catch (error) {
      releases.failed(this.#run, held.request.name, error);
    }
    held.current = null;
  }

  #isFinal({ retry }: ResourceRequest, error: unknown, attempt: number): boolean {
    const failure = toError(toFailure(error));
    if ((failure as { readonly code?: unknown }).code === "CRITICAL" || attempt >= retry.maxAttempts) return true;
    try {
      return retry.shouldRetry !== null && !retry.shouldRetry(failure, attempt);
    } catch {
      return true;
    }
  }

  /** User code, so that what goes astray in it is known to belong to the run. */
  #call(call: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#services.rejections.watched(this.#run.id, () => {
        try {
          resolve(call());
        } catch (error) {
          reject(error);
        }
      });
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

  #resourceOf(held: Held): Resource<unknown> {
    const { name } = held.request;
    const runId = this.#run.id;
    return {
      name,
      get value() {
        if (held.current !== null) return held.current.value;
        throw new PawlError(
          "RESOURCE_UNAVAILABLE",
          `resource ${name} of run ${runId} is not held: use it inside steps, which run only while it is`,
        );
      },
    };
  }
}

/**
 * Holds the place of a resource where nothing is acquired. Code may read from it and call it on its way to the next step: more
 * of the same comes of that.
 */
export const INERT_RESOURCE: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === "then" ? undefined : key === Symbol.toPrimitive ? () => "" : INERT_RESOURCE),
  apply: () => INERT_RESOURCE,
});

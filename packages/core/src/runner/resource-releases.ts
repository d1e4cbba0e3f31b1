import type { Run } from "../model/run.ts";
import type { Log } from "../runtime/log.ts";

/** A resource that could not be released. */
export interface ReleaseFailure {
  readonly runId: string;
  readonly workflow: string;
  readonly resource: string;
  readonly error: unknown;
}

/** Resources of this worker that are being given back: nobody waits for that but the worker when it stops. */
export class ResourceReleases {
  readonly #log: Log;
  readonly #onFailure: (failure: ReleaseFailure) => void;
  readonly #underWay = new Set<Promise<void>>();

  constructor(log: Log, onFailure: (failure: ReleaseFailure) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /** `work` never rejects. */
  track(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.then(() => this.#underWay.delete(work));
  }

  failed(run: Pick<Run, "id" | "workflow">, resource: string, error: unknown): void {
    this.#log("error", "a resource could not be released", { run: run.id, resource, error: String(error) });
    this.#onFailure({ runId: run.id, workflow: run.workflow, resource, error });
  }

  /** Resolves when nothing is being given back. */
  async ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}

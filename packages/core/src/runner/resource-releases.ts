import type { Run } from "../model/run.ts";
import type { Log } from "../runtime/log.ts";

interface ReleaseFailure {
  readonly runId: string;
  readonly workflow: string;
  readonly resource: string;
  readonly error: unknown;
}

/** Releases of resources that are in progress. Only the worker's shutdown waits for them. */
export class ResourceReleases {
  readonly #log: Log;
  readonly #onFailure: (failure: ReleaseFailure) => void;
  readonly #inProgress = new Set<Promise<void>>();

  constructor(log: Log, onFailure: (failure: ReleaseFailure) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /** `work` never rejects. */
  track(work: Promise<void>): void {
    this.#inProgress.add(work);
    void work.then(() => this.#inProgress.delete(work));
  }

  failed(run: Pick<Run, "id" | "workflow">, resource: string, error: unknown): void {
    this.#log("error", "resource release failed", { run: run.id, resource, error: String(error) });
    this.#onFailure({ runId: run.id, workflow: run.workflow, resource, error });
  }

  /** Resolves when no release is in progress. */
  async ended(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress);
  }
}

import type { Coordinator } from "../coordinator/coordinator.ts";
import type { EngineConfig } from "../engine/config.ts";
import type { EventPublisher } from "../engine/events.ts";
import { PawlError } from "../model/errors.ts";
import type { AppendOp } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import { SUSPECT_CLAIMS } from "./claims.ts";
import type { SessionLoader } from "./session-loader.ts";
import type { SessionPool } from "./session-pool.ts";

export interface ClaimedRunsParts {
  readonly config: Pick<EngineConfig, "log" | "store">;
  readonly codec: Codec;
  readonly events: EventPublisher;
  readonly sessions: SessionPool;
  readonly loader: SessionLoader;
  readonly coordinator: Coordinator;
  /** There is room for a suspect again. */
  readonly onCleared: () => void;
}

/**
 * Takes in the runs that this worker has claimed; parks those that no worker can bring forward.
 *
 * 1. Runs that may end their worker are worked on one at a time until they make progress, so that none is blamed for another.
 */
export class ClaimedRuns {
  readonly #parts: ClaimedRunsParts;
  readonly #suspects = new Set<string>();

  constructor(parts: ClaimedRunsParts) {
    this.#parts = parts;
  }

  /** How many more runs that may end their worker can be taken. */
  get suspectRoom(): number {
    return this.#suspects.size === 0 ? 1 : 0;
  }

  claimed(runs: readonly Run[]): void {
    const { events: news, sessions, loader } = this.#parts;
    for (const run of runs) {
      // The answer to a claim may come after the run was found to be held: then its session is the one of this claim.
      if (sessions.get(run.id)?.run.epoch === run.epoch) continue;
      loader.discard(run.id, new PawlError("OWNERSHIP_LOST", `run ${run.id} was claimed anew`));
      news.plain("run.claimed", run);
      if (run.claims > SUSPECT_CLAIMS) this.#suspects.add(run.id);
      loader.reload(run.id);
    }
  }

  /** The run has made progress, or is not worked on here any more. */
  cleared(runId: string): void {
    // Asked at each commit of each run, and there are hardly ever any.
    if (this.#suspects.size > 0 && this.#suspects.delete(runId)) this.#parts.onCleared();
  }

  /** What the store says that this worker holds: a suspect that is not among it keeps nobody from being taken. */
  keepSuspects(held: ReadonlyArray<{ readonly id: string }>): void {
    const ids = new Set(held.map(({ id }) => id));
    for (const runId of [...this.#suspects]) if (!ids.has(runId)) this.cleared(runId);
  }

  /** Lets go of a run that this worker does not know the workflow, or the version, of: who knows it may claim it. */
  release(run: Run): void {
    const { config, events: news, coordinator } = this.#parts;
    const { id: runId, epoch, status, turn, parent, undo, workflow, version } = run;
    config.log("info", "a run goes on where its workflow is known", { run: runId, workflow, version });
    const op: AppendOp = {
      kind: "append",
      runId,
      epoch,
      turn: 0,
      records: [],
      trim: [],
      taken: [],
      posts: [],
      documents: [],
      state: { status: "released", at: config.store.now() },
      undo: null,
      inbox: null,
      notBefore: null,
      transaction: null,
    };
    coordinator.own({ id: runId, status, epoch, turn, seq: -1, parent, undo });
    coordinator.enlist({
      kind: "source",
      runId,
      takeAppend: () => op,
      appended: (outcome) => {
        coordinator.disown(runId);
        if (outcome.kind === "appended") news.plain("run.released", run);
      },
    });
  }

  /** Fails a run that no worker can bring forward. */
  failRun(run: Run, error: unknown): void {
    const { config, codec, events: news, coordinator } = this.#parts;
    const failure = failurePayload(codec, error, `failure of run ${run.id}`);
    const op = { kind: "fail", runId: run.id, opId: `fail:${run.id}:${run.epoch}`, epoch: run.epoch, failure } as const;
    void coordinator.submit(op).then(
      (outcome) => {
        this.cleared(run.id);
        if (outcome.kind === "done") news.ended(run, { status: "failed", outcome: failure });
      },
      (reason: unknown) => {
        this.cleared(run.id);
        config.log("error", "a run could not be parked; the next claim tries again", {
          run: run.id,
          error: String(reason),
        });
      },
    );
  }
}

/** Why a run that was just claimed is not worked on: it has ended its workers too often. Null: it is. */
export function poisonOf(run: Run, claimsMax: number): PawlError | null {
  if (run.claims <= claimsMax) return null;
  return new PawlError(
    "POISONED",
    `run ${run.id} was claimed ${run.claims - 1} times without making progress: it ends the processes that work on it`,
  );
}

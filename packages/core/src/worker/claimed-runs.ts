import type { Coordinator } from "../coordinator/coordinator.ts";
import type { EngineConfig } from "../engine/config.ts";
import type { EventPublisher } from "../engine/events.ts";
import { PawlError } from "../model/errors.ts";
import type { AppendOp } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import { emptyAppend, type RunState } from "../model/transition.ts";
import type { ClaimedRun } from "../rules/tables.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import { pausedState } from "../runner/run-end.ts";
import type { SessionLoader } from "./session-loader.ts";
import type { SessionPool } from "./session-pool.ts";
import { SUSPECT_CLAIMS, type SuspectGroup } from "./suspect-group.ts";

/** The claims that are counted when a poisoned run starts to compensate: it is executed as a lone suspect, at least once. */
const COMPENSATION_CLAIMS = SUSPECT_CLAIMS + 1;

export interface ClaimedRunsParts {
  readonly config: Pick<EngineConfig, "log" | "store" | "poisoned">;
  readonly codec: Codec;
  readonly publisher: EventPublisher;
  readonly sessions: SessionPool;
  readonly loader: SessionLoader;
  readonly coordinator: Coordinator;
  readonly suspects: SuspectGroup;
}

/**
 * Hands claimed runs to the session loader. Releases runs of unknown workflows, pauses runs that this worker's codec cannot read, and
 * fails runs that no worker can execute.
 */
export class ClaimedRuns {
  readonly #parts: ClaimedRunsParts;

  constructor(parts: ClaimedRunsParts) {
    this.#parts = parts;
  }

  claimed(runs: readonly ClaimedRun[]): void {
    const { publisher, sessions, loader, suspects } = this.#parts;
    suspects.add(runs.filter(({ isSuspect }) => isSuspect));
    for (const run of runs) {
      // A heartbeat may have listed the run before the claim's reply arrived: then its session is the one of this claim.
      if (sessions.get(run.id)?.run.epoch === run.epoch) continue;
      loader.discard(run.id, new PawlError("OWNERSHIP_LOST", `run ${run.id} was claimed again`));
      publisher.plain("run.claimed", run);
      loader.reload(run.id);
    }
  }

  /** Releases a run whose workflow or version is not registered here, so that a worker that has it can claim it. */
  release(run: Run): void {
    const { config, publisher } = this.#parts;
    const { workflow, version } = run;
    config.log("info", "released run: workflow version not registered on this worker", {
      run: run.id,
      workflow,
      version,
    });
    const state = { status: "released", at: config.store.now() } as const;
    this.#appendState(run, state, () => {
      this.#parts.suspects.remove(run.id);
      publisher.plain("run.released", run);
    });
  }

  /** Pauses a run that this worker cannot load, because a payload cannot be read. Another worker may be able to. */
  pauseRun(run: Run, error: PawlError): void {
    const { config, codec, publisher } = this.#parts;
    const state = pausedState({ codec, log: config.log }, run.id, error);
    this.#appendState(run, state, () => {
      this.#parts.suspects.remove(run.id);
      publisher.turnEnded(run, state, false);
    });
  }

  /** Appends a state to a run that has no session. */
  #appendState(run: Run, state: RunState, onAppended: () => void): void {
    const { coordinator } = this.#parts;
    const { id: runId, epoch, status, turn, parent, undo } = run;
    const op: AppendOp = { ...emptyAppend(runId, epoch), state };
    coordinator.own({ id: runId, status, epoch, turn, seq: -1, parent, undo });
    coordinator.enlist({
      kind: "source",
      runId,
      takeAppend: () => op,
      appended: (outcome) => {
        coordinator.disown(runId);
        if (outcome.kind === "appended") onAppended();
      },
    });
  }

  /** Fails a run that crashed its workers. If it has something to undo, it is compensated first, unless the engine keeps it as it is. */
  failPoisoned(run: Run, error: unknown): void {
    const { poisoned } = this.#parts.config;
    if (poisoned === "keep") this.failRun(run, error);
    else this.failRun(run, error, { claims: COMPENSATION_CLAIMS });
  }

  /** Fails a run that no worker can execute. */
  failRun(run: Run, error: unknown, compensate?: { readonly claims: number }): void {
    const { config, codec, publisher, coordinator } = this.#parts;
    const failure = failurePayload(codec, error, `failure of run ${run.id}`);
    const facts = { runId: run.id, opId: `fail:${run.id}:${run.epoch}`, epoch: run.epoch, failure };
    const op = { kind: "fail", ...facts, ...(compensate === undefined ? {} : { compensate }) } as const;
    void coordinator.submit(op).then(
      (outcome) => {
        this.#parts.suspects.remove(run.id);
        if (outcome.kind === "done") publisher.ended(run, { status: "failed", outcome: failure });
        else if (outcome.kind === "compensating") publisher.compensating(run, failure);
      },
      (reason: unknown) => {
        this.#parts.suspects.remove(run.id);
        config.log("error", "could not mark run as failed; will retry on the next claim", {
          run: run.id,
          error: String(reason),
        });
      },
    );
  }
}

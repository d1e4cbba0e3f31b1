import { kinds, PawlError, type Rewound, readArgument, readOptions } from "pawl";
import type { ProcessHistory } from "../history/process-history.ts";
import type { OperatorAction, Variables } from "../machine/state.ts";
import type { ProcessEngine } from "../program/process-engine.ts";
import { ACTION_MESSAGE } from "../program/topics.ts";
import type { ActiveNode, IncidentView, ProcessView } from "./process-view.ts";
import {
  isRedelivered,
  ROLLBACK_OPTIONS,
  ROLLBACK_TARGET,
  type RollbackOptions,
  type RollbackTarget,
  SNAPSHOT_OPTIONS,
  type SnapshotOptions,
  type SnapshotView,
  seqOf,
  snapshotsOf,
} from "./rollback.ts";

/** The result of one retried incident. */
export type RetriedIncident = IncidentView & {
  readonly runId: string;
  /** `sent`: the run received the retry and performs it when it is executed next. */
  readonly outcome: "sent" | "runEnded" | "runNotFound";
};

export interface RetryReport {
  readonly sent: number;
  readonly incidents: readonly RetriedIncident[];
  /** Runs without incidents. */
  readonly withoutIncidents: readonly string[];
}

/** The number of an active element in its run. */
const ROW = kinds.integer(0);
const RUN_IDS = kinds.list(kinds.runId);
/** An action on a run that has ended since has no effect, and is no dead letter. */
const ACTION = { onTargetTerminated: "discard" } as const;

/**
 * Operator actions on process runs. An action that does not apply is rejected with `PROCESS_STATE` and changes nothing. An
 * accepted action is sent to the run as a message, so the journal records it.
 */
export class ProcessOperations {
  readonly #engine: ProcessEngine;
  readonly #view: (runId: string) => Promise<ProcessView>;
  readonly #history: (runId: string) => Promise<ProcessHistory>;

  constructor(
    engine: ProcessEngine,
    read: {
      readonly view: (runId: string) => Promise<ProcessView>;
      readonly history: (runId: string) => Promise<ProcessHistory>;
    },
  ) {
    this.#engine = engine;
    this.#view = read.view;
    this.#history = read.history;
  }

  /** Stores the state of an open run under a name, to return to it with `rollback`. The journal records it. */
  async snapshot(runId: string, name: string, given?: SnapshotOptions): Promise<void> {
    readArgument(kinds.name, name, "name");
    const { by = null, why = null } = readOptions(SNAPSHOT_OPTIONS, given);
    await this.#view(runId);
    await this.#send(runId, { kind: "snapshot", name, by, why });
  }

  /** The points of a run that `rollback` can name: its named snapshots, and the joins that it has passed. Oldest first. */
  async snapshots(runId: string): Promise<readonly SnapshotView[]> {
    const history = await this.#history(runId);
    return snapshotsOf(await this.#engine.run(runId).journal(), history);
  }

  /**
   * Returns a run to a named snapshot, or to the moment at which a token reached an element: a task, an event or a gateway. Everything
   * that it did after it is dropped, and it continues from there. An ended run is reopened.
   */
  async rollback(runId: string, to: RollbackTarget, given?: RollbackOptions): Promise<Rewound> {
    const target = readOptions(ROLLBACK_TARGET, to);
    const { messages = "redeliver", ...options } = readOptions(ROLLBACK_OPTIONS, given);
    const history = await this.#history(runId);
    const records = await this.#engine.run(runId).journal();
    const seq = seqOf(runId, target, snapshotsOf(records, history), history);
    const next = seq === 0 ? 0 : records.find((record) => record.seq > seq && record.kind !== "operator")?.seq;
    if (next === undefined)
      throw new PawlError("PROCESS_STATE", `run ${runId} has done nothing since then; there is nothing to roll back`);
    return await this.#engine.run(runId).rewind(next, {
      ...options,
      messages: messages === "drop" ? "drop" : isRedelivered,
    });
  }

  /** Sets variables of the process, or of one active element. */
  async setVariables(runId: string, given: Variables, row: number | null = null): Promise<void> {
    const variables = readArgument(kinds.variables, given, "variables");
    readArgument(kinds.nullable(ROW), row, "row");
    if (row !== null) await this.#node(runId, row);
    await this.#send(runId, { kind: "setVariables", row, variables });
  }

  /** Retries an element that has an incident. */
  async retry(runId: string, row: number): Promise<void> {
    await this.#incident(runId, readArgument(ROW, row, "row"));
    await this.#send(runId, { kind: "retry", row });
  }

  /** Completes an active element with `variables`, without executing it. */
  async skip(runId: string, row: number, given?: Variables): Promise<void> {
    const variables = readArgument(kinds.optional(kinds.variables), given, "variables") ?? {};
    await this.#node(runId, readArgument(ROW, row, "row"));
    await this.#send(runId, { kind: "skip", row, variables });
  }

  /** Cancels an active element and everything inside it. No outgoing flow is taken. */
  async cancelToken(runId: string, row: number): Promise<void> {
    await this.#node(runId, readArgument(ROW, row, "row"));
    await this.#send(runId, { kind: "cancelToken", row });
  }

  /** Cancels an active element and starts another one, in the same scope or in an enclosing one. */
  async moveToken(runId: string, row: number, to: string): Promise<void> {
    readArgument(kinds.name, to, "to");
    await this.#node(runId, readArgument(ROW, row, "row"));
    await this.#send(runId, { kind: "moveToken", row, to });
  }

  /** Retries all incidents of these runs. Returns the result for each. */
  async retryIncidents(runIds: readonly string[]): Promise<RetryReport> {
    const incidents: RetriedIncident[] = [];
    const withoutIncidents: string[] = [];
    for (const runId of readArgument(RUN_IDS, runIds, "runIds")) {
      const found = (await this.#view(runId)).incidents;
      if (found.length === 0) withoutIncidents.push(runId);
      for (const incident of found) {
        const sent = await this.#engine.send(runId, ACTION_MESSAGE, { kind: "retry", row: incident.row }, ACTION);
        const isGone = sent.kind === "targetNotFound";
        const outcome = isGone ? "runNotFound" : sent.kind === "targetTerminated" ? "runEnded" : "sent";
        incidents.push({ ...incident, runId, outcome });
      }
    }
    return { sent: incidents.filter(({ outcome }) => outcome === "sent").length, incidents, withoutIncidents };
  }

  async #send(runId: string, action: OperatorAction): Promise<void> {
    const outcome = await this.#engine.send(runId, ACTION_MESSAGE, action, ACTION);
    if (outcome.kind === "targetNotFound") throw new PawlError("RUN_NOT_FOUND", `run ${runId} not found`);
    if (outcome.kind === "targetTerminated") {
      throw new PawlError("RUN_ENDED", `run ${runId} is already ${outcome.status}`);
    }
  }

  async #node(runId: string, row: number): Promise<ActiveNode> {
    const { currentNodes } = await this.#view(runId);
    const found = currentNodes.find((node) => node.row === row);
    if (found !== undefined) return found;
    const active = currentNodes.map((node) => `${node.row} (${node.element})`).join(", ") || "none";
    throw new PawlError("PROCESS_STATE", `run ${runId} has no active element ${row}; active elements: ${active}`);
  }

  async #incident(runId: string, row: number): Promise<IncidentView> {
    const { incidents } = await this.#view(runId);
    const found = incidents.find((incident) => incident.row === row);
    if (found !== undefined) return found;
    throw new PawlError("PROCESS_STATE", `cannot retry element ${row} of run ${runId}: it has no incident`);
  }
}

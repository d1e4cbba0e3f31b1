import { type Engine, kinds, PawlError, readArgument } from "pawl";
import type { OperatorAction, Variables } from "../machine/state.ts";
import { ACTION_MESSAGE } from "../program/topics.ts";
import type { ActiveNode, IncidentView, ProcessView } from "./process-view.ts";

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
  readonly #engine: Engine;
  readonly #view: (runId: string) => Promise<ProcessView>;

  constructor(engine: Engine, view: (runId: string) => Promise<ProcessView>) {
    this.#engine = engine;
    this.#view = view;
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

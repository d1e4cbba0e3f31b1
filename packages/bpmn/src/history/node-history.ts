import type { Command, Row, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import type { WorkingState } from "../machine/working-state.ts";

/** An error of an element: of an attempt of its handler, of an expression, or a BPMN error. */
export interface NodeError {
  readonly message: string;
  /** The code of a BPMN error. Null for other errors. */
  readonly code: string | null;
  readonly at: number;
}

export interface TrackedNode {
  readonly row: number;
  readonly element: string;
  readonly location: string;
  /** The row of the scope or loop that contains it. */
  readonly parent: number;
  readonly instance: number | null;
  readonly token: number | null;
  readonly startedAt: number;
  readonly startedSeq: number;
  end: "completed" | "skipped" | "failed" | "terminated" | null;
  endedAt: number | null;
  endedSeq: number | null;
  input: Variables | null;
  output: Variables | null;
  flows: readonly string[];
  retriesCount: number;
  errorCount: number;
  lastError: NodeError | null;
  isSkipped: boolean;
}

/** Incidents that follow a failed handler, whose error is counted there. */
const OF_HANDLERS: ReadonlySet<string> = new Set(["failed", "noHandler", "uncaughtError", "call"]);

/** Follows each activation of an element, from the arrival of its token to its end. */
export class NodeHistory {
  readonly all = new Map<number, TrackedNode>();
  /** The time of the current event, and the seq of its record. */
  at = 0;
  seq = 0;
  readonly #byLocation = new Map<string, TrackedNode>();
  /** Activations that failed in the current event. */
  readonly #threw = new Set<number>();

  entered({ id: row, element, location, parent, instance }: Row, token: number | null): void {
    const node: TrackedNode = {
      row,
      element,
      location,
      parent,
      instance,
      token,
      startedAt: this.at,
      startedSeq: this.seq,
      end: null,
      endedAt: null,
      endedSeq: null,
      input: null,
      output: null,
      flows: [],
      retriesCount: 0,
      errorCount: 0,
      lastError: null,
      isSkipped: false,
    };
    this.all.set(row, node);
    this.#byLocation.set(location, node);
  }

  issued(state: WorkingState, command: Command): void {
    if (command.kind !== "work" && command.kind !== "task" && command.kind !== "call") return;
    const node = this.all.get(command.row);
    if (node !== undefined) node.input = variablesOfRow(state, command.row);
  }

  took(row: Row, flows: readonly string[]): void {
    const node = this.all.get(row.id);
    if (node !== undefined) node.flows = [...node.flows, ...flows];
  }

  completed(row: Row, output: Variables): void {
    const node = this.all.get(row.id);
    if (node === undefined) return;
    node.output = output;
    this.#end(node, node.isSkipped ? "skipped" : "completed");
  }

  skipped(row: Row): void {
    const node = this.all.get(row.id);
    if (node !== undefined) node.isSkipped = true;
  }

  failed(row: Row, { code, message }: { readonly code: string | null; readonly message: string }): void {
    this.#erred(this.all.get(row.id), { code, message, at: this.at });
    this.#threw.add(row.id);
  }

  raised({ id, incident }: Row): void {
    const node = this.all.get(id);
    if (incident === null || OF_HANDLERS.has(incident.kind)) return;
    this.#erred(node, { code: null, message: incident.message, at: incident.at });
  }

  removed(row: Row): void {
    const node = this.all.get(row.id);
    if (node?.end === null) this.#end(node, this.#threw.has(row.id) ? "failed" : "terminated");
  }

  /** An attempt of a handler failed, and another follows. `location` is that of its command. */
  retried(location: string, error: NodeError): void {
    const node = this.#byLocation.get(location.slice(0, location.lastIndexOf("/")));
    if (node === undefined) return;
    node.retriesCount += 1;
    this.#erred(node, error);
  }

  /** The current event was applied. */
  settle(): void {
    this.#threw.clear();
  }

  #erred(node: TrackedNode | undefined, error: NodeError): void {
    if (node === undefined) return;
    node.errorCount += 1;
    node.lastError = error;
  }

  #end(node: TrackedNode, end: TrackedNode["end"]): void {
    node.end = end;
    node.endedAt = this.at;
    node.endedSeq = this.seq;
  }
}

import type { Observer, TokenId } from "../machine/observer.ts";
import type { Command, Row, Variables } from "../machine/state.ts";
import { selfAndAncestors } from "../machine/state-rows.ts";
import type { WorkingState } from "../machine/working-state.ts";
import { type NodeError, NodeHistory } from "./node-history.ts";
import { TokenHistory } from "./token-history.ts";

/** Records what tokens and elements of an instance did, while its journal is applied to a new state. */
export class HistoryRecorder implements Observer {
  readonly tokens = new TokenHistory();
  readonly nodes = new NodeHistory();
  readonly #state: WorkingState;

  constructor(state: WorkingState) {
    this.#state = state;
    // The rows of a state that a run was migrated with.
    for (const row of state.rows.values()) if (row.parent !== 0) this.entered(row, this.spawned(row));
  }

  /** The next event is that of the record `seq`, or the start of the run if it is 0. */
  begin(seq: number, at: number): void {
    this.tokens.at = at;
    this.nodes.at = at;
    this.nodes.seq = seq;
  }

  /** The event was applied. */
  settle(): void {
    this.tokens.settle();
    this.nodes.settle();
  }

  retried(location: string, error: NodeError): void {
    this.nodes.retried(location, error);
  }

  spawned(from: Row): TokenId {
    for (const row of selfAndAncestors(this.#state, from)) {
      const token = this.tokens.tokenOf(row.id);
      if (token !== null) return this.tokens.spawned(token);
    }
    return this.tokens.spawned(null);
  }

  moved(from: Row): TokenId {
    return this.tokens.moved(from, this.#isCompleted(from) ? "completed" : "terminated");
  }

  took(from: Row, flows: readonly string[], times: number, stays: boolean): readonly TokenId[] {
    this.nodes.took(from, flows);
    return this.tokens.took(from, flows.length * times, stays);
  }

  held(scope: Row, element: string, flow: string, token: TokenId): void {
    this.tokens.held(scope, element, flow, token);
  }

  consumed(token: TokenId): void {
    this.tokens.consumed(token);
  }

  merged(scope: Row, element: string, flows: readonly string[]): TokenId {
    return this.tokens.merged(scope, element, flows);
  }

  entered(row: Row, token: TokenId): void {
    this.tokens.entered(row, token);
    this.nodes.entered(row, token);
  }

  completed(row: Row, output: Variables): void {
    this.nodes.completed(row, output);
  }

  skipped(row: Row): void {
    this.nodes.skipped(row);
  }

  failed(row: Row, error: { readonly code: string | null; readonly message: string }): void {
    this.nodes.failed(row, error);
  }

  removed(row: Row): void {
    this.tokens.cleared(row.id);
    this.tokens.removed(row, this.#isCompleted(row));
    this.nodes.removed(row);
  }

  cleared(scope: Row): void {
    this.tokens.cleared(scope.id);
  }

  raised(row: Row): void {
    this.nodes.raised(row);
  }

  issued(command: Command): void {
    this.nodes.issued(this.#state, command);
  }

  #isCompleted({ id }: Row): boolean {
    const end = this.nodes.all.get(id)?.end ?? null;
    return end === "completed" || end === "skipped";
  }
}

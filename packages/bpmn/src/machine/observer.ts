import type { Command, Row, Variables } from "./state.ts";

/** Identifies a token. 0 if nobody observes the instance. */
export type TokenId = number;

/**
 * Receives what happens while an event is applied, such as for a history. The machine works the same with and without an observer, and
 * stores nothing for it. An observer must not change what it receives, and omits the methods that it does not need.
 */
export interface Observer {
  /** A token starts inside of a row or beside it. */
  spawned?(from: Row): TokenId;
  /** The token of a row goes elsewhere, although the row takes no flow. */
  moved?(from: Row): TokenId;
  /** A row sends tokens to flows, `times` to each. Returns their ids, flow by flow. `stays`: the row keeps its own token. */
  took?(from: Row, flows: readonly string[], times: number, stays: boolean): readonly TokenId[];
  /** A token waits at an element until more tokens arrive. */
  held?(scope: Row, element: string, flow: string, token: TokenId): void;
  /** The token is consumed by a join that has fired already. */
  consumed?(token: TokenId): void;
  /** The tokens that waited at an element, one of each of these flows, become one. */
  merged?(scope: Row, element: string, flows: readonly string[]): TokenId;
  /** A token has reached an element. */
  entered?(row: Row, token: TokenId): void;
  /** Called once for each row that is completed, before it takes its flows. */
  completed?(row: Row, output: Variables): void;
  /** An operator completes the row without executing it. */
  skipped?(row: Row): void;
  /** The handler of the row failed finally, or it threw a BPMN error. */
  failed?(row: Row, error: { readonly code: string | null; readonly message: string }): void;
  /** The row is gone, completed or not. */
  removed?(row: Row): void;
  /** The tokens on their way in a scope, and those that wait at its joins, are gone. */
  cleared?(scope: Row): void;
  raised?(row: Row): void;
  resolved?(row: Row): void;
  /** A variable of the row has a new value. */
  assigned?(row: Row, name: string, value: unknown): void;
  issued?(command: Command): void;
  /** The command ended: its completion arrived, or it is no longer needed. */
  closed?(command: Command, how: "completed" | "cancelled"): void;
}

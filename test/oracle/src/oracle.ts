import type { Scope } from "./block.ts";
import { isJoined } from "./joins.ts";
import { all, isTrue, type OracleState, waitsOf } from "./oracle-state.ts";
import { leaveFork, startScope } from "./structure.ts";
import { fire, throwEvent, undoNext } from "./triggers.ts";

/**
 * The meaning of a process, block by block. The oracle has running blocks, not tokens and flows, and shares no code with the machine.
 */
export function createOracle(scope: Scope, variables: Readonly<Record<string, unknown>>, at: number): OracleState {
  const oracle: OracleState = {
    at,
    variables: { ...variables },
    root: null,
    ending: null,
    ids: 0,
    starts: new Map(),
    rules: { throwEvent, undoNext },
  };
  startScope(oracle, null, scope, null);
  settle(oracle);
  return oracle;
}

/** Fires conditions and completes joins until nothing changes. */
export function settle(oracle: OracleState): void {
  for (let changes = true; changes && oracle.ending === null; ) {
    changes = false;
    for (const node of all(oracle)) {
      if (!node.alive || oracle.ending !== null) continue;
      const due = waitsOf(node).find(({ on }) => on.kind === "condition" && isTrue(oracle, on.when));
      if (due !== undefined) {
        changes = true;
        fire(oracle, node, due);
      } else if (node.part.kind === "fork" && node.part.fork.gateway === "inclusive" && isJoined(node)) {
        changes = true;
        leaveFork(oracle, node);
      }
    }
  }
}

import type { WorkingState } from "../machine/working-state.ts";

/** A sequence flow, and the element that it comes from. */
export interface IncomingFlow {
  readonly flow: string;
  readonly from: string;
}

/** An element that holds tokens until more of them arrive: a join, or an activity that needs several tokens to start. */
export interface WaitingJoin {
  /** The scope that the tokens are in: the row of a sub-process, or 0 for the process. */
  readonly scope: number;
  readonly element: string;
  readonly name: string | null;
  readonly type: string;
  /** The number of tokens that have arrived. */
  readonly tokens: number;
  /** The flows by which they arrived. Empty for an activity. */
  readonly arrived: ReadonlyArray<IncomingFlow & { readonly tokens: number }>;
  /** The incoming flows without a token. An inclusive join does not need a token of each. Empty for an activity. */
  readonly missing: readonly IncomingFlow[];
  /** The number of tokens with which an activity starts. Null for a join. */
  readonly tokensNeeded: number | null;
}

/** The held tokens of all scopes. `root` is the row of the process, which operators see as 0. */
export function waitingJoins(state: WorkingState, root: number): readonly WaitingJoin[] {
  return [...state.rows.values()].flatMap(({ id, role }) =>
    role.kind === "scope"
      ? Object.entries(role.joins).map(([element, held]) => waitingJoin(state, id === root ? 0 : id, element, held))
      : [],
  );
}

function waitingJoin(
  { process }: WorkingState,
  scope: number,
  id: string,
  held: Readonly<Record<string, number>>,
): WaitingJoin {
  const element = process.elements.get(id);
  const tokens = Object.values(held).reduce((sum, count) => sum + count, 0);
  const needed = element !== undefined && "startQuantity" in element ? element.startQuantity : null;
  const incoming = (element?.incoming ?? []).map((flow) => ({ flow, from: process.flows.get(flow)?.source ?? "" }));
  // The tokens of an activity are not held by flow.
  const isJoin = held[""] === undefined;
  return {
    scope,
    element: id,
    name: element?.name ?? null,
    type: element?.type ?? "",
    tokens,
    arrived: incoming.flatMap((each) => {
      const count = held[each.flow] ?? 0;
      return count > 0 ? [{ ...each, tokens: count }] : [];
    }),
    missing: isJoin ? incoming.filter(({ flow }) => (held[flow] ?? 0) === 0) : [],
    tokensNeeded: isJoin ? null : needed,
  };
}

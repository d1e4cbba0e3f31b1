import { type ActivityElement, type EventElement, type GatewayElement, isActivity } from "../model/process.ts";
import type { TokenId } from "./observer.ts";
import type { Row } from "./state.ts";
import { removeRow } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { isTrue } from "./variables.ts";
import { countCompletion, enqueue, IncidentError, type WorkingState } from "./working-state.ts";

/** Sends tokens on from a gateway whose join is complete. */
export function passGateway(state: WorkingState, row: Row, gateway: GatewayElement): void {
  if (gateway.type === "eventBasedGateway") {
    for (const flow of gateway.outgoing) {
      const event = state.process.elements.get(state.process.flows.get(flow)?.target ?? "");
      if (event !== undefined) subscribeAll(state, row, event);
    }
    return;
  }
  const flows = flowsOf(state, row, gateway, gateway.type);
  countCompletion(state, row);
  takeFlows(state, row, flows);
  removeRow(state, row);
}

function flowsOf(
  state: WorkingState,
  row: Row,
  gateway: GatewayElement,
  type: Exclude<GatewayElement["type"], "eventBasedGateway">,
): readonly string[] {
  switch (type) {
    case "exclusiveGateway":
      return exclusiveFlow(state, row, gateway);
    case "parallelGateway":
      return gateway.outgoing;
    case "inclusiveGateway":
    case "complexGateway":
      return inclusiveFlows(state, row, gateway);
  }
}

/** The flows that a token takes when it leaves an activity or event. */
export function outgoingFlows(
  state: WorkingState,
  row: Row,
  element: ActivityElement | EventElement,
): readonly string[] {
  const fallback = "default" in element ? element.default : null;
  const taken: string[] = [];
  let hasCondition = false;
  let met = false;
  for (const id of element.outgoing) {
    if (id === fallback) continue;
    const condition = state.process.flows.get(id)?.condition ?? null;
    if (condition === null) {
      taken.push(id);
      continue;
    }
    hasCondition = true;
    if (!isTrue(state, row, condition)) continue;
    met = true;
    taken.push(id);
  }
  if (!met && fallback !== null) taken.push(fallback);
  if (taken.length === 0 && hasCondition) throw noFlow(element.id);
  return taken;
}

/** The first flow whose condition is met, otherwise the default flow. */
function exclusiveFlow(state: WorkingState, row: Row, gateway: GatewayElement): readonly string[] {
  for (const id of gateway.outgoing) {
    if (id === gateway.default) continue;
    const condition = state.process.flows.get(id)?.condition ?? null;
    if (condition === null || isTrue(state, row, condition)) return [id];
  }
  if (gateway.default !== null) return [gateway.default];
  if (gateway.outgoing.length === 0) return [];
  throw noFlow(gateway.id);
}

/** Every flow without a condition or with a met one, otherwise the default flow. */
function inclusiveFlows(state: WorkingState, row: Row, gateway: GatewayElement): readonly string[] {
  const taken = gateway.outgoing.filter((id) => {
    if (id === gateway.default) return false;
    const condition = state.process.flows.get(id)?.condition ?? null;
    return condition === null || isTrue(state, row, condition);
  });
  if (taken.length > 0 || gateway.outgoing.length === 0) return taken;
  if (gateway.default !== null) return [gateway.default];
  throw noFlow(gateway.id);
}

function noFlow(id: string): IncidentError {
  return new IncidentError("noFlow", `no condition of the outgoing flows of ${id} is met, and it has no default flow`);
}

/** Sends tokens of a row to flows. `stays`: the row keeps its own token. */
export function takeFlows(
  state: WorkingState,
  row: Row,
  flows: readonly string[],
  { times = 1, stays = false }: { readonly times?: number; readonly stays?: boolean } = ONCE,
): void {
  const tokens = state.observer?.took?.(row, flows, times, stays);
  const scope = row.parent;
  let sent = 0;
  for (const flow of flows) {
    for (let i = 0; i < times; i += 1) {
      enqueue(state, { kind: "flow", flow, scope, token: tokens?.[sent] ?? 0 });
      sent += 1;
    }
  }
}

const ONCE = {};

/** Handles the arrival of a token at the target of a flow. */
export function arrive(state: WorkingState, flow: string, scope: Row, token: TokenId): void {
  const target = state.process.elements.get(state.process.flows.get(flow)?.target ?? "");
  if (target === undefined || scope.role.kind !== "scope") return;
  const joins = target.incoming.length > 1;
  if (target.type === "parallelGateway" && joins) {
    holdToken(scope.role.joins, target.id, flow);
    state.observer?.held?.(scope, target.id, flow, token);
    joinParallel(state, scope, target);
  } else if ((target.type === "inclusiveGateway" || target.type === "complexGateway") && joins) {
    const reset = scope.role.resets[target.id];
    if (reset === undefined) {
      holdToken(scope.role.joins, target.id, flow);
      state.observer?.held?.(scope, target.id, flow, token);
    } else {
      reset.push(flow);
      state.observer?.consumed?.(token);
    }
    state.scopesWithJoins.add(scope.id);
  } else if (isActivity(target) && target.startQuantity > 1) {
    holdToken(scope.role.joins, target.id, "");
    state.observer?.held?.(scope, target.id, "", token);
    const count = scope.role.joins[target.id]?.[""] ?? 0;
    if (count < target.startQuantity) return;
    const flows = Array.from({ length: target.startQuantity }, () => "");
    for (const held of flows) removeToken(scope.role.joins, target.id, held);
    enter(state, target.id, scope, state.observer?.merged?.(scope, target.id, flows));
  } else {
    enter(state, target.id, scope, token);
  }
}

function enter(state: WorkingState, element: string, scope: Row, token: TokenId = 0): void {
  enqueue(state, { kind: "enter", element, scope: scope.id, result: null, token });
}

/**
 * Fires a parallel join that has a token of each incoming flow, and consumes one of each. Further tokens wait for the next time.
 */
function joinParallel(state: WorkingState, scope: Row, gateway: GatewayElement): void {
  if (scope.role.kind !== "scope") return;
  const { joins } = scope.role;
  const held = joins[gateway.id];
  if (held === undefined || gateway.incoming.some((flow) => (held[flow] ?? 0) === 0)) return;
  for (const flow of gateway.incoming) removeToken(joins, gateway.id, flow);
  state.hasJoined = true;
  enter(state, gateway.id, scope, state.observer?.merged?.(scope, gateway.id, gateway.incoming));
}

type Joins = Record<string, Record<string, number>>;

function holdToken(joins: Joins, element: string, flow: string): void {
  joins[element] ??= {};
  const held = joins[element];
  held[flow] = (held[flow] ?? 0) + 1;
}

export function removeToken(joins: Joins, element: string, flow: string): void {
  const held = joins[element];
  if (held === undefined) return;
  const count = (held[flow] ?? 0) - 1;
  if (count > 0) held[flow] = count;
  else delete held[flow];
  if (Object.keys(held).length === 0) delete joins[element];
}

import { type ActivityElement, type EventElement, type GatewayElement, isActivity } from "../model/process.ts";
import type { Row } from "./state.ts";
import { removeRow } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { isTrue } from "./variables.ts";
import { count, type Live, push, Stuck } from "./working-state.ts";

/** A gateway whose join is complete sends tokens on. */
export function beginGateway(live: Live, row: Row, gateway: GatewayElement): void {
  if (gateway.type === "eventBasedGateway") {
    for (const flow of gateway.outgoing) {
      const event = live.process.elements.get(live.process.flows.get(flow)?.target ?? "");
      if (event !== undefined) subscribeAll(live, row, event);
    }
    return;
  }
  const flows = flowsOf(live, row, gateway, gateway.type);
  count(live, gateway.id);
  takeFlows(live, row.parent, flows);
  removeRow(live, row);
}

function flowsOf(
  live: Live,
  row: Row,
  gateway: GatewayElement,
  type: Exclude<GatewayElement["type"], "eventBasedGateway">,
): readonly string[] {
  switch (type) {
    case "exclusiveGateway":
      return exclusiveFlow(live, row, gateway);
    case "parallelGateway":
      return gateway.outgoing;
    case "inclusiveGateway":
    case "complexGateway":
      return inclusiveFlows(live, row, gateway);
  }
}

/** The flows by which a token leaves an activity or an event. */
export function leavingFlows(live: Live, row: Row, element: ActivityElement | EventElement): readonly string[] {
  const fallback = "default" in element ? element.default : null;
  const taken: string[] = [];
  let hasCondition = false;
  let met = false;
  for (const id of element.outgoing) {
    if (id === fallback) continue;
    const condition = live.process.flows.get(id)?.condition ?? null;
    if (condition === null) {
      taken.push(id);
      continue;
    }
    hasCondition = true;
    if (!isTrue(live, row, condition)) continue;
    met = true;
    taken.push(id);
  }
  if (!met && fallback !== null) taken.push(fallback);
  if (taken.length === 0 && hasCondition) throw noFlow(element.id);
  return taken;
}

/** The first flow whose condition is met; else the default. */
export function exclusiveFlow(live: Live, row: Row, gateway: GatewayElement): readonly string[] {
  for (const id of gateway.outgoing) {
    if (id === gateway.default) continue;
    const condition = live.process.flows.get(id)?.condition ?? null;
    if (condition === null || isTrue(live, row, condition)) return [id];
  }
  if (gateway.default !== null) return [gateway.default];
  if (gateway.outgoing.length === 0) return [];
  throw noFlow(gateway.id);
}

/** Every flow whose condition is met, and those without one; the default if there is none. */
export function inclusiveFlows(live: Live, row: Row, gateway: GatewayElement): readonly string[] {
  const taken = gateway.outgoing.filter((id) => {
    if (id === gateway.default) return false;
    const condition = live.process.flows.get(id)?.condition ?? null;
    return condition === null || isTrue(live, row, condition);
  });
  if (taken.length > 0 || gateway.outgoing.length === 0) return taken;
  if (gateway.default !== null) return [gateway.default];
  throw noFlow(gateway.id);
}

function noFlow(id: string): Stuck {
  return new Stuck("noFlow", `no condition of the flows that leave ${id} is met, and it has no default flow`);
}

export function takeFlows(live: Live, scope: number, flows: readonly string[], times = 1): void {
  for (const flow of flows) for (let i = 0; i < times; i += 1) push(live, { kind: "flow", flow, scope });
}

/** A token comes to the end of a flow. */
export function arrive(live: Live, flow: string, scope: Row): void {
  const target = live.process.elements.get(live.process.flows.get(flow)?.target ?? "");
  if (target === undefined || scope.role.kind !== "scope") return;
  const joins = target.incoming.length > 1;
  if (target.type === "parallelGateway" && joins) {
    park(scope.role.joins, target.id, flow);
    joinParallel(live, scope, target);
  } else if ((target.type === "inclusiveGateway" || target.type === "complexGateway") && joins) {
    const reset = scope.role.resets[target.id];
    if (reset === undefined) park(scope.role.joins, target.id, flow);
    else reset.push(flow);
    live.joining.add(scope.id);
  } else if (isActivity(target) && target.startQuantity > 1) {
    park(scope.role.joins, target.id, "");
    const count = scope.role.joins[target.id]?.[""] ?? 0;
    if (count < target.startQuantity) return;
    for (let i = 0; i < target.startQuantity; i += 1) unpark(scope.role.joins, target.id, "");
    enter(live, target.id, scope.id);
  } else {
    enter(live, target.id, scope.id);
  }
}

function enter(live: Live, element: string, scope: number): void {
  push(live, { kind: "enter", element, scope, result: null });
}

/** One token of each incoming flow is needed, and taken; what is left over waits for the next round. */
function joinParallel(live: Live, scope: Row, gateway: GatewayElement): void {
  if (scope.role.kind !== "scope") return;
  const { joins } = scope.role;
  const held = joins[gateway.id];
  if (held === undefined || gateway.incoming.some((flow) => (held[flow] ?? 0) === 0)) return;
  for (const flow of gateway.incoming) unpark(joins, gateway.id, flow);
  enter(live, gateway.id, scope.id);
}

type Joins = Record<string, Record<string, number>>;

function park(joins: Joins, element: string, flow: string): void {
  joins[element] ??= {};
  const held = joins[element];
  held[flow] = (held[flow] ?? 0) + 1;
}

export function unpark(joins: Joins, element: string, flow: string): void {
  const held = joins[element];
  if (held === undefined) return;
  const count = (held[flow] ?? 0) - 1;
  if (count > 0) held[flow] = count;
  else delete held[flow];
  if (Object.keys(held).length === 0) delete joins[element];
}

import { type Expression, type GatewayElement, isEvent, type Process } from "../model/process.ts";
import { hostElement } from "./catch-events.ts";
import { removeToken } from "./gateways.ts";
import type { Incident, Role, Row } from "./state.ts";
import { addRow, childrenOf, PLAIN } from "./state-rows.ts";
import { isTrue } from "./variables.ts";
import { enqueue, IncidentError, raiseIncident, type WorkingState } from "./working-state.ts";

/** By gateway and incoming flow: the elements from which a token can reach that flow without passing the gateway. */
type Upstream = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;
const upstreams = new WeakMap<Process, Map<string, ReadonlyMap<string, ReadonlySet<string>>>>();

type ScopeRole = Extract<Role, { kind: "scope" }>;

/**
 * Fires one inclusive or complex join that is complete. Returns false if there is none. Called only when no other work is
 * queued, because any moving token can change the result.
 */
export function fireJoin(state: WorkingState): boolean {
  for (const id of state.scopesWithJoins) {
    const scope = state.rows.get(id);
    if (scope?.role.kind !== "scope") continue;
    if (fireIn(state, scope, scope.role)) return true;
  }
  return false;
}

function fireIn(state: WorkingState, scope: Row, role: ScopeRole): boolean {
  const positions = positionsIn(state, scope, role);
  for (const id of Object.keys(role.resets)) {
    const gateway = gatewayOf(state.process, id);
    if (gateway !== null && isReset(state.process, gateway, role.resets[id] ?? [], positions)) delete role.resets[id];
  }
  const waiting = Object.keys(role.joins).filter((id) => joinsInclusively(state.process, id));
  for (const id of waiting) {
    const gateway = gatewayOf(state.process, id);
    if (gateway === null) continue;
    if (fireIfComplete(state, scope, role, gateway, positions)) return true;
  }
  if (waiting.length === 0 && Object.keys(role.resets).length === 0) state.scopesWithJoins.delete(scope.id);
  const [first] = waiting;
  if (first === undefined || scope.children > 0 || scope.pending > 0) return false;
  const message = `the join ${first} waits for tokens that cannot arrive: no other token is left in its scope`;
  return raiseIncidentAt(state, scope, role, first, { kind: "joinDeadlock", message });
}

function fireIfComplete(
  state: WorkingState,
  scope: Row,
  role: ScopeRole,
  gateway: GatewayElement,
  positions: ReadonlySet<string>,
): boolean {
  try {
    const isDue =
      gateway.activation === null
        ? isComplete(state, gateway, role, positions)
        : activates(state, scope, role, gateway, gateway.activation);
    if (isDue) fire(state, scope, role, gateway);
    return isDue;
  } catch (error) {
    if (!(error instanceof IncidentError)) throw error;
    return raiseIncidentAt(state, scope, role, gateway.id, { kind: error.kind, message: error.message });
  }
}

function joinsInclusively(process: Process, id: string): boolean {
  const type = process.elements.get(id)?.type;
  return type === "inclusiveGateway" || type === "complexGateway";
}

function gatewayOf(process: Process, id: string): GatewayElement | null {
  const element = process.elements.get(id);
  return element !== undefined && "activation" in element ? element : null;
}

/**
 * The elements of a scope that hold tokens: active elements and joins. Also non-interrupting boundary events that are still open:
 * each can add a token while its activity keeps its own.
 */
function positionsIn(state: WorkingState, scope: Row, role: ScopeRole): ReadonlySet<string> {
  const positions = new Set(Object.keys(role.joins));
  for (const child of childrenOf(state, scope)) {
    positions.add(child.element);
    for (const id of hostElement(state, child)?.boundaries ?? []) if (mayAddToken(state, child, id)) positions.add(id);
  }
  return positions;
}

function mayAddToken(state: WorkingState, host: Row, id: string): boolean {
  const event = state.process.elements.get(id);
  if (event === undefined || !isEvent(event) || event.isInterrupting) return false;
  // Escalations have no subscription. The others are open as long as they have one.
  if (event.triggers.some(({ kind }) => kind === "escalation")) return true;
  return [...(state.owned.get(host.id) ?? [])].some((location) => state.subscriptions.get(location)?.element === id);
}

/**
 * BPMN 2.0.2, section 13.4.3: the join waits while a token elsewhere can reach an empty incoming flow, unless that token can
 * also reach a filled one.
 */
function isComplete(
  state: WorkingState,
  gateway: GatewayElement,
  role: ScopeRole,
  positions: ReadonlySet<string>,
): boolean {
  const up = upstreamOf(state.process, gateway);
  const held = role.joins[gateway.id] ?? {};
  const filled = gateway.incoming.filter((flow) => (held[flow] ?? 0) > 0);
  const empty = gateway.incoming.filter((flow) => (held[flow] ?? 0) === 0);
  for (const position of positions) {
    if (position === gateway.id) continue;
    const canFill = empty.some((flow) => up.get(flow)?.has(position));
    if (canFill && !filled.some((flow) => up.get(flow)?.has(position))) return false;
  }
  return true;
}

/** A fired complex gateway is ready again when no token can reach its remaining incoming flows. */
function isReset(
  process: Process,
  gateway: GatewayElement,
  received: readonly string[],
  positions: ReadonlySet<string>,
): boolean {
  const up = upstreamOf(process, gateway);
  const open = gateway.incoming.filter((flow) => !received.includes(flow));
  return !open.some((flow) => [...positions].some((position) => up.get(flow)?.has(position)));
}

function activates(
  state: WorkingState,
  scope: Row,
  role: ScopeRole,
  gateway: GatewayElement,
  condition: Expression,
): boolean {
  const held = Object.values(role.joins[gateway.id] ?? {});
  const activationCount = held.reduce((sum, count) => sum + count, 0);
  return isTrue(state, scope, condition, { activationCount });
}

/** Fires a join, consuming one token of each flow that has one. */
function fire(state: WorkingState, scope: Row, role: ScopeRole, gateway: GatewayElement): void {
  const flows = Object.keys(role.joins[gateway.id] ?? {});
  for (const flow of flows) removeToken(role.joins, gateway.id, flow);
  if (gateway.activation !== null && flows.length < gateway.incoming.length) role.resets[gateway.id] = flows;
  const token = state.observer?.merged?.(scope, gateway.id, flows) ?? 0;
  state.hasJoined = true;
  enqueue(state, { kind: "enter", element: gateway.id, scope: scope.id, result: null, token });
}

/** Replaces the tokens at a join by one token with an incident, for an operator to resolve. */
function raiseIncidentAt(
  state: WorkingState,
  scope: Row,
  role: ScopeRole,
  gateway: string,
  why: Pick<Incident, "kind" | "message">,
): true {
  const flows = Object.keys(role.joins[gateway] ?? {});
  for (const flow of flows) removeToken(role.joins, gateway, flow);
  const token = state.observer?.merged?.(scope, gateway, flows) ?? 0;
  const row = addRow(state, { parent: scope.id, element: gateway, role: PLAIN, token });
  raiseIncident(state, row, { ...why, retryFrom: "start" });
  return true;
}

function upstreamOf(process: Process, gateway: GatewayElement): ReadonlyMap<string, ReadonlySet<string>> {
  let known = upstreams.get(process);
  if (known === undefined) {
    known = new Map();
    upstreams.set(process, known);
  }
  const found: Upstream = known;
  const cached = found.get(gateway.id);
  if (cached !== undefined) return cached;
  const made = new Map(gateway.incoming.map((flow) => [flow, elementsReaching(process, gateway.id, flow)]));
  known.set(gateway.id, made);
  return made;
}

/** Walks backward from a flow. A boundary event is reached from its activity, a catching link from its throwing links. */
function elementsReaching(process: Process, without: string, flow: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [process.flows.get(flow)?.source ?? ""];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const element = process.elements.get(id);
    if (element === undefined || id === without || seen.has(id)) continue;
    seen.add(id);
    waiting.push(...element.incoming.map((each) => process.flows.get(each)?.source ?? ""));
    if (element.type === "boundaryEvent" && element.attachedTo !== null) waiting.push(element.attachedTo);
    if (element.type === "intermediateCatchEvent") waiting.push(...linksTo(process, element.id));
  }
  return seen;
}

function linksTo(process: Process, id: string): readonly string[] {
  const target = process.elements.get(id);
  if (target?.type !== "intermediateCatchEvent") return [];
  const names = target.triggers.flatMap((trigger) => (trigger.kind === "link" ? [trigger.name] : []));
  if (names.length === 0) return [];
  return [...process.elements.values()]
    .filter(
      (other) =>
        other.type === "intermediateThrowEvent" &&
        other.scope === target.scope &&
        other.triggers.some((trigger) => trigger.kind === "link" && names.includes(trigger.name)),
    )
    .map((other) => other.id);
}

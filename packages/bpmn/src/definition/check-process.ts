import {
  type ActivityElement,
  type Element,
  type EventElement,
  type Flow,
  type GatewayElement,
  isActivity,
  isEvent,
  isSubProcess,
  type Process,
} from "../model/process.ts";
import { notATimer, parseTimer } from "../model/timer.ts";
import { checkReachable } from "./check-reachable.ts";
import type { Problems } from "./problem.ts";

/** Finds everything in a process that cannot be executed, or not as drawn. */
export function checkProcess(process: Process, problems: Problems): void {
  const found = (element: Element, text: string): void => problems.add(element.id, element.line, text);
  for (const flow of process.flows.values()) checkFlow(process, flow, problems);
  for (const element of process.elements.values()) {
    checkDefault(element, found);
    if (isEvent(element)) checkEvent(process, element, found);
    if (isSubProcess(element)) checkSubProcess(process, element, found);
    if (isActivity(element)) checkActivity(element, found);
    if (element.type === "eventBasedGateway") checkEventGateway(process, element, found);
    if (element.type === "startEvent" && element.isParallel && element.scope === process.id) {
      found(element, "a parallel multiple start event cannot start a process; use an event-based gateway");
    }
  }
  if (canStart(process)) checkReachable(process, problems);
  else problems.add(process.id, null, "the process cannot start; add a start event");
}

type Found = (element: Element, text: string) => void;

function checkFlow({ elements }: Process, flow: Flow, problems: Problems): void {
  const source = elements.get(flow.source);
  const target = elements.get(flow.target);
  const found = (text: string): void => problems.add(flow.id, flow.line, text);
  if (source === undefined) found(`the source ${flow.source} of the flow is not in its scope; connect the flow`);
  if (target === undefined) found(`the target ${flow.target} of the flow is not in its scope; connect the flow`);
  if (source === undefined || target === undefined) return;
  if (source.scope !== target.scope) found("the flow crosses the boundary of a sub-process; end it at the boundary");
  if (target.type === "startEvent" || target.type === "boundaryEvent") {
    found(`a ${target.type} cannot have incoming flows; connect the flow to another element`);
  }
  if (source.type === "endEvent") found("an end event cannot have outgoing flows; remove the flow");
}

/** A condition on a default flow is ignored, as the standard requires. */
function checkDefault(element: Element, found: Found): void {
  if (!("default" in element) || element.default === null) return;
  if (!element.outgoing.includes(element.default))
    found(element, "its default flow is not one of its outgoing flows; correct it");
}

function checkActivity(element: ActivityElement, found: Found): void {
  if (element.type === "callActivity" && element.called.text === "") {
    found(element, "the call activity has no calledElement; add one");
  }
  for (const name of ["startQuantity", "completionQuantity"] as const) {
    if (!(element[name] >= 1)) found(element, `${name} is ${element[name]}; it must be at least 1`);
  }
  if (element.type === "eventSubProcess" && element.incoming.length + element.outgoing.length > 0) {
    found(element, "an event sub-process cannot have flows; remove them");
  }
}

function checkEvent(process: Process, event: EventElement, found: Found): void {
  const { type, triggers } = event;
  if (type === "boundaryEvent") {
    const host = event.attachedTo === null ? undefined : process.elements.get(event.attachedTo);
    if (host === undefined || !isActivity(host))
      found(event, "the boundary event is not attached to an activity; attach it to one");
    if (triggers.length === 0) found(event, "the boundary event has no trigger; add one");
    const isCancel = triggers.some(({ kind }) => kind === "cancel");
    if (isCancel && host?.type !== "transaction")
      found(event, "a cancel event must be attached to a transaction; make the activity one");
  }
  if (type === "intermediateCatchEvent" && triggers.length === 0) {
    found(event, "the catching event has no trigger; add one");
  }
  for (const trigger of triggers) {
    if (trigger.kind === "timer" && trigger.value.isStatic) {
      const parsed = parseTimer(trigger.timer, trigger.value.text);
      if (parsed === null) found(event, `${notATimer(trigger.timer, trigger.value.text)}; correct it`);
    }
    if (trigger.kind === "link" && type === "intermediateThrowEvent") checkLink(process, event, trigger.name, found);
    if (trigger.kind === "compensation" && type === "boundaryEvent") checkCompensation(process, event, found);
  }
}

function checkLink(process: Process, event: EventElement, name: string, found: Found): void {
  const targets = [...process.elements.values()].filter(
    (other) =>
      other.type === "intermediateCatchEvent" &&
      other.scope === event.scope &&
      other.triggers.some((trigger) => trigger.kind === "link" && trigger.name === name),
  );
  if (targets.length !== 1) {
    found(event, `${targets.length} catching link events are named "${name}" in its scope; exactly one must be`);
  }
}

function checkCompensation(process: Process, event: EventElement, found: Found): void {
  const host = process.elements.get(event.attachedTo ?? "");
  if (host === undefined || !isActivity(host)) return;
  const handler = host.compensatedBy === null ? undefined : process.elements.get(host.compensatedBy);
  if (handler === undefined || !isActivity(handler)) {
    found(event, "the compensation event has no handler; associate an activity with it");
  } else if (!handler.isForCompensation) {
    found(handler, "the activity is a compensation handler; set isForCompensation");
  }
}

function checkSubProcess(process: Process, element: Element, found: Found): void {
  const inside = (process.scopes.get(element.id)?.elements ?? []).flatMap((id) => process.elements.get(id) ?? []);
  if (element.type === "eventSubProcess") {
    const starts = inside.filter(({ type }) => type === "startEvent");
    const [start] = starts;
    if (starts.length !== 1 || start === undefined || !isEvent(start) || start.triggers.length === 0) {
      found(element, "an event sub-process must have exactly one start event, with a trigger");
    }
    return;
  }
  const triggered = inside.filter((each) => each.type === "startEvent" && each.triggers.length > 0);
  for (const start of triggered) {
    found(start, "the start event of a sub-process cannot have a trigger; remove it");
  }
}

function checkEventGateway(process: Process, gateway: GatewayElement, found: Found): void {
  for (const id of gateway.outgoing) {
    const target = process.elements.get(process.flows.get(id)?.target ?? "");
    if (target === undefined) continue;
    if (target.type !== "intermediateCatchEvent" && target.type !== "receiveTask") {
      found(gateway, `its flow ${id} must lead to a catching event or a receive task`);
    }
  }
  if (gateway.instantiates === null) return;
  if (gateway.scope !== process.id)
    found(gateway, "an instantiating gateway cannot be in a sub-process; move it to the process");
  if (gateway.incoming.length > 0) found(gateway, "an instantiating gateway cannot have incoming flows; remove them");
}

function canStart(process: Process): boolean {
  const graph = process.scopes.get(process.id);
  if (graph === undefined) return false;
  if (graph.starts.length > 0) return true;
  return graph.elements.some((id) => {
    const element = process.elements.get(id);
    if (element?.type === "eventBasedGateway") return element.instantiates !== null;
    return element?.type === "startEvent" || (element?.type === "receiveTask" && element.instantiates);
  });
}

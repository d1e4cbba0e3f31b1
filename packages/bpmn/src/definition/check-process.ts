import {
  type Element,
  type EventElement,
  type Flow,
  type GatewayElement,
  isActivity,
  isEvent,
  isSubProcess,
  type Process,
} from "../model/process.ts";
import { type ClockTime, parseTimer } from "../model/timer.ts";
import type { Problems } from "./problem.ts";

/** Looks for everything in a process that could not be run, or not as it is drawn. */
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
      found(
        element,
        "a start event that waits for several triggers together does not begin a process here; use a gateway",
      );
    }
  }
  if (!canStart(process)) problems.add(process.id, null, "nothing begins the process; give it a start event");
}

type Found = (element: Element, text: string) => void;

function checkFlow({ elements }: Process, flow: Flow, problems: Problems): void {
  const source = elements.get(flow.source);
  const target = elements.get(flow.target);
  const found = (text: string): void => problems.add(flow.id, source?.line ?? null, text);
  if (source === undefined) found(`the flow begins at ${flow.source}, which is no element of its scope; connect it`);
  if (target === undefined) found(`the flow leads to ${flow.target}, which is no element of its scope; connect it`);
  if (source === undefined || target === undefined) return;
  if (source.scope !== target.scope) found("the flow crosses the edge of a sub-process; end it at the edge");
  if (target.type === "startEvent" || target.type === "boundaryEvent") {
    found(`the flow leads to a ${target.type}, which nothing may; lead it to another element`);
  }
  if (source.type === "endEvent") found("the flow begins at an end event; begin it elsewhere");
}

/** A condition that a default flow has is passed over, as the standard says. */
function checkDefault(element: Element, found: Found): void {
  if (!("default" in element) || element.default === null) return;
  if (!element.outgoing.includes(element.default)) found(element, "its default is no flow that leaves it; correct it");
}

function checkActivity(element: Element, found: Found): void {
  if (element.type === "callActivity" && element.called.text === "") {
    found(element, "the call activity names nothing that is called; give it a calledElement");
  }
  if (element.type === "eventSubProcess" && element.incoming.length + element.outgoing.length > 0) {
    found(element, "an event sub-process has flows; remove them, its start event begins it");
  }
}

function checkEvent(process: Process, event: EventElement, found: Found): void {
  const { type, triggers } = event;
  if (type === "boundaryEvent") {
    const host = event.attachedTo === null ? undefined : process.elements.get(event.attachedTo);
    if (host === undefined || !isActivity(host))
      found(event, "the event is on the edge of no activity; attach it to one");
    if (triggers.length === 0) found(event, "the event on an edge has no trigger; give it one");
    const isCancel = triggers.some(({ kind }) => kind === "cancel");
    if (isCancel && host?.type !== "transaction") found(event, "only a transaction can be cancelled; make it one");
  }
  if (type === "intermediateCatchEvent" && triggers.length === 0) {
    found(event, "the event waits for nothing; give it a trigger");
  }
  for (const trigger of triggers) {
    if (trigger.kind === "timer" && trigger.value.isStatic) {
      const parsed = parseTimer(trigger.timer, trigger.value.text);
      if (parsed === null)
        found(event, `${trigger.value.text} is no ${NAMES[trigger.timer]}; write it as ISO 8601 does`);
    }
    if (trigger.kind === "link" && type === "intermediateThrowEvent") checkLink(process, event, trigger.name, found);
    if (trigger.kind === "compensation" && type === "boundaryEvent") checkCompensation(process, event, found);
  }
}

const NAMES: Readonly<Record<ClockTime, string>> = { date: "date", duration: "duration", cycle: "cycle" };

function checkLink(process: Process, event: EventElement, name: string, found: Found): void {
  const targets = [...process.elements.values()].filter(
    (other) =>
      other.type === "intermediateCatchEvent" &&
      other.scope === event.scope &&
      other.triggers.some((trigger) => trigger.kind === "link" && trigger.name === name),
  );
  if (targets.length !== 1) {
    found(event, `${targets.length} catching link events are named ${name} in its scope; there has to be one`);
  }
}

function checkCompensation(process: Process, event: EventElement, found: Found): void {
  const host = process.elements.get(event.attachedTo ?? "");
  if (host === undefined || !isActivity(host)) return;
  const handler = host.compensatedBy === null ? undefined : process.elements.get(host.compensatedBy);
  if (handler === undefined || !isActivity(handler)) {
    found(event, "the compensation event leads to no activity; associate one with it");
  } else if (!handler.isForCompensation) {
    found(handler, "it undoes another activity and is not marked so; set isForCompensation");
  }
}

function checkSubProcess(process: Process, element: Element, found: Found): void {
  const inside = (process.scopes.get(element.id)?.elements ?? []).flatMap((id) => process.elements.get(id) ?? []);
  if (element.type === "eventSubProcess") {
    const starts = inside.filter(({ type }) => type === "startEvent");
    const [start] = starts;
    if (starts.length !== 1 || start === undefined || !isEvent(start) || start.triggers.length === 0) {
      found(element, "an event sub-process begins with exactly one start event that has a trigger; give it that");
    }
    return;
  }
  const triggered = inside.filter((each) => each.type === "startEvent" && each.triggers.length > 0);
  for (const start of triggered) {
    found(start, "a sub-process is begun by its flow, not by a trigger; remove the trigger");
  }
}

function checkEventGateway(process: Process, gateway: GatewayElement, found: Found): void {
  for (const id of gateway.outgoing) {
    const target = process.elements.get(process.flows.get(id)?.target ?? "");
    if (target === undefined) continue;
    if (target.type !== "intermediateCatchEvent" && target.type !== "receiveTask") {
      found(
        gateway,
        `its flow ${id} leads to no event that is waited for; put a catching event or a receive task there`,
      );
    }
  }
  if (gateway.instantiates === null) return;
  if (gateway.scope !== process.id) found(gateway, "only a process is begun by a gateway, not a sub-process; move it");
  if (gateway.incoming.length > 0)
    found(gateway, "a gateway that begins a process has flows that lead to it; remove them");
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

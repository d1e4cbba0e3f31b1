import { type Element, isActivity, isEvent, type Process } from "../model/process.ts";
import type { Problems } from "./problem.ts";

/** Reports each element that no token can reach. Of a part of the model that nothing leads to, only its first element. */
export function checkReachable(process: Process, problems: Problems): void {
  const reached = new Set<string>();
  const all = [...process.elements.values()];
  const starts = new Set([...process.scopes.values()].flatMap((scope) => scope.starts));
  for (const element of all) if (starts.has(element.id) || isEntry(process, element)) reach(process, element, reached);
  const report = (element: Element): void => {
    problems.add(element.id, element.line, "nothing leads to the element; connect it, or remove it");
    reach(process, element, reached);
  };
  for (const element of all) if (!reached.has(element.id) && !hasWayIn(element)) report(element);
  for (const element of all) if (!reached.has(element.id)) report(element);
}

function hasWayIn(element: Element): boolean {
  return element.incoming.length > 0 || element.type === "boundaryEvent";
}

/** Elements that get a token without a flow. */
function isEntry(process: Process, element: Element): boolean {
  if (element.type === "startEvent" || element.type === "eventSubProcess") return true;
  if (element.type === "receiveTask" && element.instantiates) return true;
  if (element.type === "eventBasedGateway" && element.instantiates !== null) return true;
  if (isActivity(element)) return element.isForCompensation;
  // The token of a compensation event goes to its handler. An event without a host is another problem.
  if (element.type !== "boundaryEvent") return false;
  return (
    !process.elements.has(element.attachedTo ?? "") || element.triggers.some(({ kind }) => kind === "compensation")
  );
}

/** Adds the elements that a token at `from` can reach in its scope. */
function reach(process: Process, from: Element, reached: Set<string>): void {
  const waiting = [from.id];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const element = process.elements.get(id);
    if (element === undefined || reached.has(id)) continue;
    reached.add(id);
    waiting.push(...element.outgoing.map((flow) => process.flows.get(flow)?.target ?? ""));
    if (isActivity(element)) waiting.push(...element.boundaries);
    waiting.push(...linkTargets(process, element));
  }
}

function linkTargets({ scopes, elements }: Process, from: Element): readonly string[] {
  if (!isEvent(from) || from.type === "intermediateCatchEvent") return [];
  const names = from.triggers.flatMap((trigger) => (trigger.kind === "link" ? [trigger.name] : []));
  if (names.length === 0) return [];
  return (scopes.get(from.scope)?.elements ?? []).filter((id) => {
    const element = elements.get(id);
    if (element?.type !== "intermediateCatchEvent") return false;
    return element.triggers.some((trigger) => trigger.kind === "link" && names.includes(trigger.name));
  });
}

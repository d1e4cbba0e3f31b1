import { type Element, isActivity, isEvent } from "../model/process.ts";

/** Where a scope begins: at its start events without a trigger, else at what no flow leads to. */
export function startsOf(elements: readonly Element[]): readonly string[] {
  const events = elements.filter(({ type }) => type === "startEvent");
  const plain = events.filter((event) => isEvent(event) && event.triggers.length === 0);
  if (events.length > 0) return plain.map(({ id }) => id);
  return elements.filter(isImplicitStart).map(({ id }) => id);
}

function isImplicitStart(element: Element): boolean {
  if (element.incoming.length > 0 || element.type === "boundaryEvent" || element.type === "eventSubProcess")
    return false;
  if (element.type === "receiveTask" && element.instantiates) return false;
  if (element.type === "eventBasedGateway" && element.begins !== null) return false;
  if (isEvent(element) && element.triggers.some(({ kind }) => kind === "link")) return false;
  return !(isActivity(element) && element.isForCompensation);
}

import { type EventElement, isEvent } from "../model/process.ts";
import { catchInside, catchOnEdge, hostElement } from "./catch-events.ts";
import type { Row, Variables } from "./state.ts";
import { upward } from "./state-rows.ts";
import { type Live, ROOT } from "./working-state.ts";

interface Thrown {
  readonly kind: "error" | "escalation";
  readonly code: string | null;
  readonly variables: Variables;
}

/** Where something thrown is caught. */
type Catcher =
  | { readonly kind: "edge"; readonly row: Row; readonly event: EventElement }
  | { readonly kind: "inside"; readonly row: Row; readonly event: EventElement };

/** Hands an error to the nearest event that catches it, which interrupts; false: there is none. */
export function throwError(live: Live, from: Row, code: string, variables: Variables): boolean {
  const catcher = catcherOf(live, from, { kind: "error", code, variables });
  if (catcher === null) return false;
  caught(live, catcher, variables, true);
  return true;
}

/** How an escalation ends: nobody listens, somebody does beside the thrower, or in its place. */
export type Escalated = "uncaught" | "beside" | "interrupted";

export function throwEscalation(live: Live, from: Row, code: string | null, variables: Variables): Escalated {
  const catcher = catcherOf(live, from, { kind: "escalation", code, variables });
  if (catcher === null) return "uncaught";
  const { isInterrupting } = catcher.event;
  caught(live, catcher, variables, isInterrupting);
  return isInterrupting ? "interrupted" : "beside";
}

function caught(live: Live, { kind, row, event }: Catcher, variables: Variables, isInterrupting: boolean): void {
  if (kind === "edge") {
    catchOnEdge(live, row, event, variables, isInterrupting);
    return;
  }
  const own = live.process.elements.get(event.scope);
  if (own !== undefined) catchInside(live, row, own, event, variables);
}

/** Searches outward. In each scope: event sub-processes first, then events on its edge; a code before one for all. */
function catcherOf(live: Live, from: Row, thrown: Thrown): Catcher | null {
  for (const row of upward(live, from)) {
    const found = insideOf(live, row, from, thrown) ?? onEdgeOf(live, row, thrown);
    if (found !== null) return found;
  }
  return null;
}

function insideOf(live: Live, row: Row, from: Row, thrown: Thrown): Catcher | null {
  if (row === from || row.role.kind !== "scope" || row.role.interruptedBy !== null) return null;
  const graph = live.process.scopes.get(row.id === ROOT ? live.process.id : row.element);
  const starts = (graph?.eventSubProcesses ?? []).flatMap((id) => startOf(live, id));
  const event = bestOf(starts, thrown);
  return event === null ? null : { kind: "inside", row, event };
}

/** The start event of an event sub-process. */
export function startOf(live: Live, eventSubProcess: string): readonly EventElement[] {
  const inside = live.process.scopes.get(eventSubProcess)?.elements ?? [];
  return inside.flatMap((id) => {
    const element = live.process.elements.get(id);
    return element !== undefined && isEvent(element) && element.type === "startEvent" ? [element] : [];
  });
}

/** The event sub-process that undoes its scope in its own way: it begins with compensation. */
export function compensationInside(live: Live, element: string): string | null {
  const inside = live.process.scopes.get(element)?.eventSubProcesses ?? [];
  const isFor = ({ triggers }: EventElement): boolean => triggers.some(({ kind }) => kind === "compensation");
  return inside.find((id) => startOf(live, id).some(isFor)) ?? null;
}

function onEdgeOf(live: Live, row: Row, thrown: Thrown): Catcher | null {
  const host = hostElement(live, row);
  if (host === null) return null;
  const events = host.boundaries.flatMap((id) => {
    const element = live.process.elements.get(id);
    return element !== undefined && isEvent(element) ? [element] : [];
  });
  const event = bestOf(events, thrown);
  return event === null ? null : { kind: "edge", row, event };
}

function bestOf(events: readonly EventElement[], { kind, code }: Thrown): EventElement | null {
  const catches = (event: EventElement, wanted: string | null): boolean =>
    event.triggers.some((trigger) => trigger.kind === kind && trigger.code === wanted);
  const exact = code === null ? undefined : events.find((event) => catches(event, code));
  return exact ?? events.find((event) => catches(event, null)) ?? null;
}

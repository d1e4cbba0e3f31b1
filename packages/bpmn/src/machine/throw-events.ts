import { type EventElement, type EventTrigger, isEvent } from "../model/process.ts";
import { catchAtBoundary, hostElement, startEventSubProcess } from "./catch-events.ts";
import type { Row, Variables } from "./state.ts";
import { selfAndAncestors } from "./state-rows.ts";
import { computedText } from "./subscriptions.ts";
import { IncidentError, ROOT, type WorkingState } from "./working-state.ts";

interface Thrown {
  readonly kind: "error" | "escalation" | "failure";
  readonly code: string | null;
  readonly message: string | null;
  readonly variables: Variables;
}

/** The event that catches something thrown. */
type Catcher =
  | { readonly kind: "boundary"; readonly row: Row; readonly event: EventElement }
  | { readonly kind: "eventSubProcess"; readonly row: Row; readonly event: EventElement };

/** Throws an error to the nearest event that catches it, which interrupts. False if there is none. */
export function throwError(
  state: WorkingState,
  from: Row,
  { code, message, variables }: Omit<Thrown, "kind">,
): boolean {
  const thrown: Thrown = { kind: "error", code, message, variables };
  const catcher = findCatcher(state, from, thrown);
  if (catcher === null) return false;
  deliverTo(state, catcher, thrown, true);
  return true;
}

/** Delivers a technical failure to the nearest error event that catches failures. False if there is none. */
export function throwFailure(state: WorkingState, from: Row, message: string): boolean {
  const variables = { error: { element: from.element, message } };
  const thrown: Thrown = { kind: "failure", code: null, message, variables };
  const catcher = findCatcher(state, from, thrown);
  if (catcher === null) return false;
  deliverTo(state, catcher, thrown, true);
  return true;
}

/** `uncaught`: no event catches it. `nonInterrupting`: the thrower continues. `interrupted`: the thrower is removed. */
type EscalationOutcome = "uncaught" | "nonInterrupting" | "interrupted";

export function throwEscalation(
  state: WorkingState,
  from: Row,
  code: string | null,
  variables: Variables,
): EscalationOutcome {
  const thrown: Thrown = { kind: "escalation", code, message: null, variables };
  const catcher = findCatcher(state, from, thrown);
  if (catcher === null) return "uncaught";
  const { isInterrupting } = catcher.event;
  deliverTo(state, catcher, thrown, isInterrupting);
  return isInterrupting ? "interrupted" : "nonInterrupting";
}

function deliverTo(state: WorkingState, { kind, row, event }: Catcher, thrown: Thrown, isInterrupting: boolean): void {
  const variables = caughtVariables(event, thrown);
  if (kind === "boundary") {
    catchAtBoundary(state, row, event, variables, isInterrupting);
    return;
  }
  const own = state.process.elements.get(event.scope);
  if (own !== undefined) startEventSubProcess(state, row, own, event, variables);
}

/** The variables of what is caught, with its code and message in the variables that the catching event names for them. */
function caughtVariables({ triggers }: EventElement, { kind, code, message, variables }: Thrown): Variables {
  const named = triggers.flatMap((trigger): ReadonlyArray<readonly [string | undefined, unknown]> => {
    if (trigger.kind !== (kind === "failure" ? "error" : kind)) return [];
    const ofCode = [trigger.codeVariable, code] as const;
    return trigger.kind === "error" ? [ofCode, [trigger.messageVariable, message]] : [ofCode];
  });
  const present = named.filter(([name]) => name !== undefined);
  return present.length === 0 ? variables : Object.fromEntries([...Object.entries(variables), ...present]);
}

/**
 * Searches from the row outward. In each scope, event sub-processes come before boundary events, and a matching code before a
 * catch-all.
 */
function findCatcher(state: WorkingState, from: Row, thrown: Thrown): Catcher | null {
  let inner: Row | null = null;
  for (const row of selfAndAncestors(state, from)) {
    const found = eventSubProcessCatcher(state, row, inner, thrown) ?? boundaryCatcher(state, row, thrown);
    if (found !== null) return found;
    inner = row;
  }
  return null;
}

/** `inner` is the child of the scope that the event comes from. An event sub-process does not catch its own event again. */
function eventSubProcessCatcher(state: WorkingState, row: Row, inner: Row | null, thrown: Thrown): Catcher | null {
  if (inner === null || row.role.kind !== "scope" || row.role.interruptedBy !== null) return null;
  const graph = state.process.scopes.get(row.id === ROOT ? state.process.id : row.element);
  const others = (graph?.eventSubProcesses ?? []).filter((id) => id !== inner?.element);
  const starts = others.flatMap((id) => startEventsOf(state, id));
  const event = mostSpecific(state, row, starts, thrown);
  return event === null ? null : { kind: "eventSubProcess", row, event };
}

/** The start events of an event sub-process. */
export function startEventsOf(state: WorkingState, eventSubProcess: string): readonly EventElement[] {
  const inside = state.process.scopes.get(eventSubProcess)?.elements ?? [];
  return inside.flatMap((id) => {
    const element = state.process.elements.get(id);
    return element !== undefined && isEvent(element) && element.type === "startEvent" ? [element] : [];
  });
}

/** The event sub-process that compensates its scope itself: its start event is a compensation event. */
export function compensationSubProcess(state: WorkingState, element: string): string | null {
  const inside = state.process.scopes.get(element)?.eventSubProcesses ?? [];
  const isFor = ({ triggers }: EventElement): boolean => triggers.some(({ kind }) => kind === "compensation");
  return inside.find((id) => startEventsOf(state, id).some(isFor)) ?? null;
}

function boundaryCatcher(state: WorkingState, row: Row, thrown: Thrown): Catcher | null {
  const host = hostElement(state, row);
  if (host === null) return null;
  const events = host.boundaries.flatMap((id) => {
    const element = state.process.elements.get(id);
    return element !== undefined && isEvent(element) ? [element] : [];
  });
  const event = mostSpecific(state, row, events, thrown);
  return event === null ? null : { kind: "boundary", row, event };
}

function mostSpecific(
  state: WorkingState,
  row: Row,
  events: readonly EventElement[],
  { kind, code }: Thrown,
): EventElement | null {
  if (kind === "failure") return events.find(catchesFailures) ?? null;
  const catches = (event: EventElement, wanted: string | null): boolean =>
    event.triggers.some(
      (trigger) => trigger.kind === kind && "code" in trigger && caughtCode(state, row, trigger) === wanted,
    );
  const exact = code === null ? undefined : events.find((event) => catches(event, code));
  return exact ?? events.find((event) => catches(event, null)) ?? null;
}

function catchesFailures({ triggers }: EventElement): boolean {
  return triggers.some((trigger) => trigger.kind === "error" && trigger.failures === true);
}

type Coded = Extract<EventTrigger, { kind: "error" | "escalation" }>;

/** The code of an error or escalation, evaluated if it is computed. */
export function codeOf(state: WorkingState, row: Row, { code, computed }: Coded): string | null {
  return computed === undefined ? code : computedText(state, row, computed);
}

/** An event whose code cannot be evaluated catches nothing. */
function caughtCode(state: WorkingState, row: Row, trigger: Coded): string | null {
  try {
    return codeOf(state, row, trigger);
  } catch (error) {
    if (error instanceof IncidentError) return "";
    throw error;
  }
}

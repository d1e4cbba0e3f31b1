import type { ActivityElement, EventTrigger, InstanceThrow, MultiInstance, StandardLoop } from "../model/process.ts";
import { catchAtBoundary } from "./catch-events.ts";
import type { Role, Row, Undoable, Variables } from "./state.ts";
import { clearScope, removeRow } from "./state-rows.ts";
import { assign, evaluate, isTrue } from "./variables.ts";
import { enqueue, IncidentError, spawnToken, type WorkingState } from "./working-state.ts";

type LoopRole = Extract<Role, { kind: "loop" }>;

/** Maximum instances of one activity. */
const INSTANCES_MAX = 100_000;

/** Turns a row into a loop and starts its first instances. The number of instances is computed once. */
export function startLoop(
  state: WorkingState,
  row: Row,
  element: ActivityElement,
  loop: MultiInstance | StandardLoop,
): void {
  const { total, items } = loop.kind === "multi" ? sizeOf(state, row, loop) : { total: null, items: null };
  const role: LoopRole = { kind: "loop", total, items, started: 0, ended: 0, outputs: [], undo: [] };
  row.role = role;
  if (loop.kind === "standard") {
    const isOver = loop.testBefore && !continuesLoop(state, row, loop, 0);
    if (isOver) enqueue(state, { kind: "complete", row: row.id });
    else startInstance(state, row, role, element, loop);
    return;
  }
  if (total === 0) {
    finishLoop(state, row, role, loop);
    return;
  }
  const first = loop.sequential ? 1 : (total ?? 0);
  for (let i = 0; i < first; i += 1) startInstance(state, row, role, element, loop);
}

function sizeOf(
  state: WorkingState,
  row: Row,
  loop: MultiInstance,
): { total: number; items: readonly unknown[] | null } {
  const items = loop.collection === null ? null : evaluate(state, row, loop.collection);
  if (items !== null && !Array.isArray(items)) {
    throw new IncidentError("invalid", `the collection of ${row.element} is not a list`);
  }
  const value = items === null && loop.cardinality !== null ? evaluate(state, row, loop.cardinality) : null;
  const total = items === null ? Number(value) : items.length;
  if (!Number.isInteger(total) || total < 0 || total > INSTANCES_MAX) {
    throw new IncidentError(
      "invalid",
      `${row.element} has ${String(value ?? total)} instances; the number must be from 0 to ${INSTANCES_MAX}`,
    );
  }
  return { total, items };
}

function startInstance(
  state: WorkingState,
  body: Row,
  role: LoopRole,
  element: ActivityElement,
  loop: MultiInstance | StandardLoop,
): void {
  const instance = role.started;
  role.started += 1;
  const item = loop.kind === "multi" && loop.item !== null ? { [loop.item]: role.items?.[instance] ?? null } : {};
  const variables = { loopCounter: instance + 1, ...item };
  const token = spawnToken(state, body);
  enqueue(state, { kind: "enter", element: element.id, scope: body.id, result: null, token, instance, variables });
}

/** Completes one instance of a loop. Everything that can fail is computed before the state changes. */
export function endInstance(
  state: WorkingState,
  body: Row,
  row: Row,
  element: ActivityElement,
  { given, undo }: { readonly given: Variables; readonly undo: Undoable | null },
): void {
  const { role } = body;
  const { loop } = element;
  if (role.kind !== "loop" || loop === null) return;
  const output =
    loop.kind === "multi" && loop.output !== null ? evaluate(state, row, loop.output.element, given) : undefined;
  const thrown = loop.kind === "multi" ? instanceThrows(state, row, loop, role, given) : [];
  const isDone = loop.kind === "multi" && (thrown.some(endsLoop) || isMet(state, row, loop, role, given));
  // Without output mappings, the loop assigns its output collection when it completes; mapped outputs are visible at
  // once.
  const isGathered = loop.kind === "multi" && loop.output !== null && element.outputs.length === 0;
  if (!isGathered) assign(state, body, given);
  const again = loop.kind === "standard" && continuesLoop(state, body, loop, role.ended + 1);
  role.ended += 1;
  if (output !== undefined && row.instance !== null) {
    // No holes, because the state is stored as JSON.
    while (role.outputs.length < row.instance) role.outputs.push(null);
    role.outputs[row.instance] = output;
  }
  if (undo !== null) role.undo.push(undo);
  state.observer?.completed?.(row, given);
  removeRow(state, row);
  for (const { trigger } of thrown) if (trigger !== null) throwToBoundaries(state, body, element, trigger, given);
  if (loop.kind === "standard" ? !again : isDone || role.ended === role.total) finishLoop(state, body, role, loop);
  else if (loop.kind === "standard" || loop.sequential) startInstance(state, body, role, element, loop);
}

function isMet(state: WorkingState, row: Row, loop: MultiInstance, role: LoopRole, given: Variables): boolean {
  if (loop.completion === null) return false;
  return isTrue(state, row, loop.completion, { ...given, ...countsOf(role) });
}

/** The names that Camunda and Zeebe models use. */
function countsOf({ total, started, ended }: LoopRole): Variables {
  const completed = ended + 1;
  const active = started - completed;
  return {
    numberOfInstances: total,
    numberOfActiveInstances: active,
    numberOfCompletedInstances: completed,
    nrOfInstances: total,
    nrOfActiveInstances: active,
    nrOfCompletedInstances: completed,
  };
}

function continuesLoop(state: WorkingState, row: Row, { condition, maximum }: StandardLoop, ended: number): boolean {
  if (maximum !== null && ended >= maximum) return false;
  if (condition === null) return maximum !== null;
  return isTrue(state, row, condition);
}

function finishLoop(state: WorkingState, body: Row, role: LoopRole, loop: MultiInstance | StandardLoop): void {
  clearScope(state, body);
  if (loop.kind === "multi" && loop.output !== null) {
    body.result = {
      [loop.output.variable]: Array.from({ length: role.total ?? 0 }, (_, i) => role.outputs[i] ?? null),
    };
  }
  enqueue(state, { kind: "complete", row: body.id });
}

function instanceThrows(
  state: WorkingState,
  row: Row,
  loop: MultiInstance,
  role: LoopRole,
  given: Variables,
): readonly InstanceThrow[] {
  const counts = { ...given, ...countsOf(role) };
  return loop.throws.filter(({ when }) => {
    if (when === "each") return true;
    return when === "first" ? role.ended === 0 : isTrue(state, row, when, counts);
  });
}

function endsLoop({ when }: InstanceThrow): boolean {
  return typeof when === "object";
}

/** Delivers what a completed instance throws to the boundary events of the activity. It interrupts nothing. */
function throwToBoundaries(
  state: WorkingState,
  body: Row,
  element: ActivityElement,
  thrown: EventTrigger,
  given: Variables,
): void {
  for (const id of element.boundaries) {
    const event = state.process.elements.get(id);
    if (event?.type !== "boundaryEvent") continue;
    if (event.triggers.some((trigger) => isSame(trigger, thrown))) catchAtBoundary(state, body, event, given, false);
  }
}

function isSame(trigger: EventTrigger, thrown: EventTrigger): boolean {
  if (trigger.kind !== thrown.kind) return false;
  if (trigger.kind === "signal" && thrown.kind === "signal") return trigger.name.text === thrown.name.text;
  if (trigger.kind === "message" && thrown.kind === "message") return trigger.name === thrown.name;
  if ("code" in trigger && "code" in thrown) return trigger.code === null || trigger.code === thrown.code;
  return true;
}

import type { ActivityElement, EventTrigger, InstanceThrow, MultiInstance, StandardLoop } from "../model/process.ts";
import { catchOnEdge } from "./catch-events.ts";
import type { Role, Row, Undoable, Variables } from "./state.ts";
import { clearScope, removeRow } from "./state-rows.ts";
import { assign, evaluate, isTrue } from "./variables.ts";
import { type Live, push, Stuck } from "./working-state.ts";

type LoopRole = Extract<Role, { kind: "loop" }>;

/** How many instances one activity may have. */
const INSTANCES_MAX = 100_000;

/** The row becomes the body of a loop; how often is computed once. */
export function startLoop(live: Live, row: Row, element: ActivityElement, loop: MultiInstance | StandardLoop): void {
  const { total, items } = loop.kind === "multi" ? sizeOf(live, row, loop) : { total: null, items: null };
  const role: LoopRole = { kind: "loop", total, items, begun: 0, ended: 0, outputs: [], undo: [] };
  row.role = role;
  if (loop.kind === "standard") {
    const isOver = loop.testBefore && !goesOn(live, row, loop, 0);
    if (isOver) push(live, { kind: "complete", row: row.id });
    else beginInstance(live, row, role, element, loop);
    return;
  }
  if (total === 0) {
    finish(live, row, role, loop);
    return;
  }
  const first = loop.sequential ? 1 : (total ?? 0);
  for (let i = 0; i < first; i += 1) beginInstance(live, row, role, element, loop);
}

function sizeOf(live: Live, row: Row, loop: MultiInstance): { total: number; items: readonly unknown[] | null } {
  const items = loop.collection === null ? null : evaluate(live, row, loop.collection);
  if (items !== null && !Array.isArray(items)) {
    throw new Stuck("invalid", `the collection of ${row.element} is no list`);
  }
  const value = items === null && loop.cardinality !== null ? evaluate(live, row, loop.cardinality) : null;
  const total = items === null ? Number(value) : items.length;
  if (!Number.isInteger(total) || total < 0 || total > INSTANCES_MAX) {
    throw new Stuck(
      "invalid",
      `${row.element} is to be done ${String(value ?? total)} times; up to ${INSTANCES_MAX} is possible`,
    );
  }
  return { total, items };
}

function beginInstance(
  live: Live,
  body: Row,
  role: LoopRole,
  element: ActivityElement,
  loop: MultiInstance | StandardLoop,
): void {
  const instance = role.begun;
  role.begun += 1;
  const item = loop.kind === "multi" && loop.item !== null ? { [loop.item]: role.items?.[instance] ?? null } : {};
  const variables = { loopCounter: instance + 1, ...item };
  push(live, { kind: "enter", element: element.id, scope: body.id, result: null, instance, variables });
}

/** One instance is done. What can fail is computed before anything changes. */
export function endInstance(
  live: Live,
  body: Row,
  row: Row,
  element: ActivityElement,
  { given, undo }: { readonly given: Variables; readonly undo: Undoable | null },
): void {
  const { role } = body;
  const { loop } = element;
  if (role.kind !== "loop" || loop === null) return;
  const output =
    loop.kind === "multi" && loop.output !== null ? evaluate(live, row, loop.output.element, given) : undefined;
  const thrown = loop.kind === "multi" ? thrownBy(live, row, loop, role, given) : [];
  const isDone = loop.kind === "multi" && (thrown.some(ends) || isMet(live, row, loop, role, given));
  // What is gathered is given by the whole, when it is done; what a mapping names is meant for others at once.
  const isGathered = loop.kind === "multi" && loop.output !== null && element.outputs.length === 0;
  if (!isGathered) assign(live, body, given);
  const again = loop.kind === "standard" && goesOn(live, body, loop, role.ended + 1);
  role.ended += 1;
  if (output !== undefined && row.instance !== null) {
    // Without holes: a state is JSON.
    while (role.outputs.length < row.instance) role.outputs.push(null);
    role.outputs[row.instance] = output;
  }
  if (undo !== null) role.undo.push(undo);
  removeRow(live, row);
  for (const { trigger } of thrown) if (trigger !== null) throwToEdge(live, body, element, trigger, given);
  if (loop.kind === "standard" ? !again : isDone || role.ended === role.total) finish(live, body, role, loop);
  else if (loop.kind === "standard" || loop.sequential) beginInstance(live, body, role, element, loop);
}

function isMet(live: Live, row: Row, loop: MultiInstance, role: LoopRole, given: Variables): boolean {
  if (loop.completion === null) return false;
  return isTrue(live, row, loop.completion, { ...given, ...countsOf(role) });
}

/** As common models name them. */
function countsOf({ total, begun, ended }: LoopRole): Variables {
  const completed = ended + 1;
  const active = begun - completed;
  return {
    numberOfInstances: total,
    numberOfActiveInstances: active,
    numberOfCompletedInstances: completed,
    nrOfInstances: total,
    nrOfActiveInstances: active,
    nrOfCompletedInstances: completed,
  };
}

function goesOn(live: Live, row: Row, { condition, maximum }: StandardLoop, ended: number): boolean {
  if (maximum !== null && ended >= maximum) return false;
  if (condition === null) return maximum !== null;
  return isTrue(live, row, condition);
}

function finish(live: Live, body: Row, role: LoopRole, loop: MultiInstance | StandardLoop): void {
  clearScope(live, body);
  if (loop.kind === "multi" && loop.output !== null) {
    body.result = {
      [loop.output.variable]: Array.from({ length: role.total ?? 0 }, (_, i) => role.outputs[i] ?? null),
    };
  }
  push(live, { kind: "complete", row: body.id });
}

function thrownBy(
  live: Live,
  row: Row,
  loop: MultiInstance,
  role: LoopRole,
  given: Variables,
): readonly InstanceThrow[] {
  const counts = { ...given, ...countsOf(role) };
  return loop.throws.filter(({ when }) => {
    if (when === "each") return true;
    return when === "first" ? role.ended === 0 : isTrue(live, row, when, counts);
  });
}

function ends({ when }: InstanceThrow): boolean {
  return typeof when === "object";
}

/** What an instance throws by completing goes to the events on the activity's edge. It interrupts nothing: the others go on. */
function throwToEdge(live: Live, body: Row, element: ActivityElement, thrown: EventTrigger, given: Variables): void {
  for (const id of element.boundaries) {
    const event = live.process.elements.get(id);
    if (event?.type !== "boundaryEvent") continue;
    if (event.triggers.some((trigger) => isSame(trigger, thrown))) catchOnEdge(live, body, event, given, false);
  }
}

function isSame(trigger: EventTrigger, thrown: EventTrigger): boolean {
  if (trigger.kind !== thrown.kind) return false;
  if (trigger.kind === "signal" && thrown.kind === "signal") return trigger.name.text === thrown.name.text;
  if (trigger.kind === "message" && thrown.kind === "message") return trigger.name === thrown.name;
  if ("code" in trigger && "code" in thrown) return trigger.code === null || trigger.code === thrown.code;
  return true;
}

import { type ActivityElement, isActivity } from "../model/process.ts";
import { outgoingFlows, takeFlows } from "./gateways.ts";
import { endInstance, startLoop } from "./multi-instance.ts";
import type { Row, Undoable, Variables } from "./state.ts";
import { removeRow } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { compensationSubProcess } from "./throw-events.ts";
import { applyMappings, assign, assignLocal, evaluate } from "./variables.ts";
import { count, elementOf, enqueue, releaseRow, type WorkingState } from "./working-state.ts";

/** What an activity of some type does when it begins. */
export type StartActivity = (state: WorkingState, row: Row, element: ActivityElement) => void;

/** Whether the events on its edge are still to be opened: work that is done again finds them as they are, with their timers. */
export type Boundaries = "closed" | "open";

/** An activity gets its inputs and its edges; one that is done several times begins its instances. */
export function startActivity(
  state: WorkingState,
  row: Row,
  element: ActivityElement,
  begin: StartActivity,
  edges: Boundaries,
): void {
  if (element.loop !== null && row.instance === null) {
    openBoundaries(state, row, element);
    startLoop(state, row, element, element.loop);
    return;
  }
  for (const { source, target } of element.inputs) {
    assignLocal(state, row, target, evaluate(state, row, source) ?? null);
  }
  if (row.instance === null && edges === "closed") openBoundaries(state, row, element);
  begin(state, row, element);
}

function openBoundaries(state: WorkingState, row: Row, element: ActivityElement): void {
  for (const id of element.boundaries) {
    const event = state.process.elements.get(id);
    if (event !== undefined) subscribeAll(state, row, event);
  }
}

/** An activity is done: what it gave goes to where it lies, and it can be undone from here on. */
export function completeActivity(state: WorkingState, row: Row): void {
  const element = elementOf(state, row);
  if (element === null || !isActivity(element)) return;
  const above = state.rows.get(row.parent);
  const result = row.result ?? {};
  // Mappings are each instance's; the whole gives what it has gathered.
  const maps = element.outputs.length > 0 && row.role.kind !== "loop";
  const plain = maps ? applyMappings(state, row, element.outputs, result) : result;
  const given = element.dataOutputs.length === 0 ? plain : { ...plain, ...dataOf(state, row, element, result) };
  releaseRow(state, row.id);
  const undo = undoableOf(state, row, element);
  if (row.role.kind !== "loop" && row.instance !== null && above !== undefined) {
    endInstance(state, above, row, element, { given, undo });
    return;
  }
  const isKept = undo !== null && !element.isForCompensation;
  if (isKept && above !== undefined && "undo" in above.role) above.role.undo.push(undo);
  assign(state, above, given);
  count(state, element.id);
  if (element.isForCompensation) removeRow(state, row);
  else enqueue(state, { kind: "leave", row: row.id });
}

/** What goes to data objects: only what is there. */
function dataOf(state: WorkingState, row: Row, { dataOutputs }: ActivityElement, result: Variables): Variables {
  if (row.role.kind === "loop") return {};
  const values = Object.entries(applyMappings(state, row, dataOutputs, result));
  return Object.fromEntries(values.filter(([, value]) => value !== null));
}

function undoableOf(state: WorkingState, row: Row, element: ActivityElement): Undoable | null {
  const inner = "undo" in row.role ? row.role.undo : [];
  const handler = row.instance === null ? element.compensatedBy : null;
  if (handler === null && inner.length === 0 && compensationSubProcess(state, element.id) === null) return null;
  const order = state.nextId;
  state.nextId += 1;
  return { element: element.id, handler, inner: handler === null ? inner : [], order, variables: row.variables };
}

/** The token goes on from an activity or an event. */
export function leave(state: WorkingState, row: Row): void {
  const element = elementOf(state, row);
  if (element === null || "activation" in element) return;
  if (!isActivity(element) && row.result !== null) {
    const above = state.rows.get(row.parent);
    assign(
      state,
      above,
      element.outputs.length > 0 ? applyMappings(state, row, element.outputs, row.result) : row.result,
    );
    row.result = null;
  }
  const flows = outgoingFlows(state, row, element);
  if (!isActivity(element)) count(state, element.id);
  takeFlows(state, row.parent, flows, isActivity(element) ? element.completionQuantity : 1);
  removeRow(state, row);
}

import { type ActivityElement, isActivity } from "../model/process.ts";
import { leavingFlows, takeFlows } from "./gateways.ts";
import { endInstance, startLoop } from "./multi-instance.ts";
import type { Row, Undoable, Variables } from "./state.ts";
import { removeRow } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { compensationInside } from "./throw-events.ts";
import { assign, assignLocal, evaluate, mapped } from "./variables.ts";
import { count, elementOf, type Live, push, release } from "./working-state.ts";

/** What an activity of some type does when it begins. */
export type Begin = (live: Live, row: Row, element: ActivityElement) => void;

/** Whether the events on its edge are still to be opened: work that is done again finds them as they are, with their timers. */
export type Edges = "closed" | "open";

/** An activity gets its inputs and its edges; one that is done several times begins its instances. */
export function beginActivity(live: Live, row: Row, element: ActivityElement, begin: Begin, edges: Edges): void {
  if (element.loop !== null && row.instance === null) {
    openEdges(live, row, element);
    startLoop(live, row, element, element.loop);
    return;
  }
  for (const { source, target } of element.inputs) {
    assignLocal(live, row, target, evaluate(live, row, source) ?? null);
  }
  if (row.instance === null && edges === "closed") openEdges(live, row, element);
  begin(live, row, element);
}

function openEdges(live: Live, row: Row, element: ActivityElement): void {
  for (const id of element.boundaries) {
    const event = live.process.elements.get(id);
    if (event !== undefined) subscribeAll(live, row, event);
  }
}

/** An activity is done: what it gave goes to where it lies, and it can be undone from here on. */
export function completeActivity(live: Live, row: Row): void {
  const element = elementOf(live, row);
  if (element === null || !isActivity(element)) return;
  const above = live.rows.get(row.parent);
  const result = row.result ?? {};
  // Mappings are each instance's; the whole gives what it has gathered.
  const maps = element.outputs.length > 0 && row.role.kind !== "loop";
  const plain = maps ? mapped(live, row, element.outputs, result) : result;
  const given = element.dataOutputs.length === 0 ? plain : { ...plain, ...dataOf(live, row, element, result) };
  release(live, row.id);
  const undo = undoableOf(live, row, element);
  if (row.role.kind !== "loop" && row.instance !== null && above !== undefined) {
    endInstance(live, above, row, element, { given, undo });
    return;
  }
  const isKept = undo !== null && !element.isForCompensation;
  if (isKept && above !== undefined && "undo" in above.role) above.role.undo.push(undo);
  assign(live, above, given);
  count(live, element.id);
  if (element.isForCompensation) removeRow(live, row);
  else push(live, { kind: "leave", row: row.id });
}

/** What goes to data objects: only what is there. */
function dataOf(live: Live, row: Row, { dataOutputs }: ActivityElement, result: Variables): Variables {
  if (row.role.kind === "loop") return {};
  const values = Object.entries(mapped(live, row, dataOutputs, result));
  return Object.fromEntries(values.filter(([, value]) => value !== null));
}

function undoableOf(live: Live, row: Row, element: ActivityElement): Undoable | null {
  const inner = "undo" in row.role ? row.role.undo : [];
  const handler = row.instance === null ? element.compensatedBy : null;
  if (handler === null && inner.length === 0 && compensationInside(live, element.id) === null) return null;
  const order = live.nextId;
  live.nextId += 1;
  return { element: element.id, handler, inner: handler === null ? inner : [], order, variables: row.variables };
}

/** The token goes on from an activity or an event. */
export function leave(live: Live, row: Row): void {
  const element = elementOf(live, row);
  if (element === null || "activation" in element) return;
  if (!isActivity(element) && row.result !== null) {
    const above = live.rows.get(row.parent);
    assign(live, above, element.outputs.length > 0 ? mapped(live, row, element.outputs, row.result) : row.result);
    row.result = null;
  }
  const flows = leavingFlows(live, row, element);
  if (!isActivity(element)) count(live, element.id);
  takeFlows(live, row.parent, flows, isActivity(element) ? element.completionQuantity : 1);
  removeRow(live, row);
}

import { textOfProblems } from "../human/forms.ts";
import { problemsIn } from "../human/json-schema.ts";
import { inputSchemaOf } from "../model/human-task.ts";
import { type ActivityElement, type CallElement, isActivity } from "../model/process.ts";
import { outgoingFlows, takeFlows } from "./gateways.ts";
import { callListener } from "./listeners.ts";
import { endInstance, startLoop } from "./multi-instance.ts";
import type { Row, Undoable, Variables } from "./state.ts";
import { removeRow } from "./state-rows.ts";
import { subscribeAll } from "./subscriptions.ts";
import { compensationSubProcess } from "./throw-events.ts";
import { applyMappings, assign, assignLocal, evaluate, visibleVariables } from "./variables.ts";
import { countCompletion, elementOf, enqueue, IncidentError, releaseRow, type WorkingState } from "./working-state.ts";

/** Executes an activity of one type when its token arrives. */
export type StartActivity = (state: WorkingState, row: Row, element: ActivityElement) => void;

/**
 * How an element is entered. Work that is retried (`again`) finds the boundary events open, with their timers running. `listened`: the
 * inputs are evaluated, the boundary events are open, and the listeners before the work were called.
 */
export type Entry = "first" | "again" | "listened";

/** Evaluates the inputs of an activity, opens its boundary events and executes it. A loop starts its instances instead. */
export function startActivity(
  state: WorkingState,
  row: Row,
  element: ActivityElement,
  start: StartActivity,
  entry: Entry,
): void {
  if (entry === "listened") {
    start(state, row, element);
    return;
  }
  if (element.loop !== null && row.instance === null) {
    openBoundaries(state, row, element);
    startLoop(state, row, element, element.loop);
    return;
  }
  for (const { source, target } of element.inputs) {
    assignLocal(state, row, target, evaluate(state, row, source) ?? null);
  }
  checkInput(state, row, element);
  if (row.instance === null && entry === "first") openBoundaries(state, row, element);
  if (entry === "again" || !callListener(state, row, "before", 0)) start(state, row, element);
}

/** An activity whose input does not match its schema is not executed. */
function checkInput(state: WorkingState, row: Row, element: ActivityElement): void {
  const schema = inputSchemaOf(element);
  const problems = schema === null ? [] : problemsIn(schema, visibleVariables(state, row));
  if (problems.length > 0)
    throw new IncidentError("invalid", `the input of ${element.id} is invalid: ${textOfProblems(problems)}`);
}

function openBoundaries(state: WorkingState, row: Row, element: ActivityElement): void {
  for (const id of element.boundaries) {
    const event = state.process.elements.get(id);
    if (event !== undefined) subscribeAll(state, row, event);
  }
}

/** Completes an activity: assigns its outputs to the enclosing scope, and records it for compensation. */
export function completeActivity(state: WorkingState, row: Row): void {
  const element = elementOf(state, row);
  if (element === null || !isActivity(element)) return;
  const above = state.rows.get(row.parent);
  const result = row.result ?? {};
  // Output mappings belong to the instances of a loop; the loop itself gives only its output collection.
  const maps = element.outputs.length > 0 && row.role.kind !== "loop";
  const mapped = maps ? applyMappings(state, row, element.outputs, result) : null;
  const plain = element.type === "callActivity" ? returnedBy(element, result, mapped) : (mapped ?? result);
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
  countCompletion(state, row, given);
  if (element.isForCompensation) removeRow(state, row);
  else enqueue(state, { kind: "leave", row: row.id });
}

/** The variables that a call assigns: the mapped ones, or all of the called process. `mapped` is null if there are no outputs. */
function returnedBy({ returns }: CallElement, result: Variables, mapped: Variables | null): Variables {
  if (returns === "all") return { ...result, ...mapped };
  return mapped ?? (returns === "outputs" ? {} : result);
}

/** Values for data objects. A null value does not overwrite one. */
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

/** Moves the token on from a completed activity or event. */
export function leave(state: WorkingState, row: Row): void {
  const element = elementOf(state, row);
  if (element === null || "activation" in element) return;
  let given: Variables = {};
  if (!isActivity(element) && row.result !== null) {
    const above = state.rows.get(row.parent);
    given = element.outputs.length > 0 ? applyMappings(state, row, element.outputs, row.result) : row.result;
    assign(state, above, given);
    row.result = null;
  }
  const flows = outgoingFlows(state, row, element);
  if (isActivity(element)) {
    takeFlows(state, row, flows, { times: element.completionQuantity });
  } else {
    countCompletion(state, row, given);
    takeFlows(state, row, flows);
  }
  removeRow(state, row);
}

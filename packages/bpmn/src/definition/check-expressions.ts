import { flawsOfText } from "../human/forms.ts";
import { humanTaskOf } from "../model/human-task.ts";
import { type Element, type Expression, type Flow, isActivity, type Process } from "../model/process.ts";
import { requestExpressions } from "../model/request-template.ts";
import { parseTimer } from "../model/timer.ts";
import type { Problems } from "./problem.ts";

/** Returns why an expression can never be evaluated. Null if it may be. */
export type FlawOf = (expression: Expression, names: readonly string[]) => string | null;

/** Finds unusable expressions, form schemas and dates of tasks, which would otherwise be incidents of each run. */
export function checkExpressions(process: Process, flawOf: FlawOf, problems: Problems): void {
  const names = namesOf(process);
  for (const [holder, expression] of expressionsOf(process)) {
    const flaw = flawOf(expression, names);
    if (flaw !== null) problems.add(holder.id, holder.line, flaw);
  }
  for (const element of process.elements.values()) {
    checkSchema(element, "input schema", element.properties.inputSchema ?? null, problems);
    if (element.type === "userTask" || element.type === "startEvent") checkTask(element, problems);
  }
}

function checkSchema(element: Element, name: string, schema: string | null, problems: Problems): void {
  for (const { path, text } of schema === null ? [] : flawsOfText(schema))
    problems.add(element.id, element.line, `${name}${path === "" ? "" : ` ${path}`}: ${text}`);
}

function checkTask(element: Element, problems: Problems): void {
  const { formSchema, due, followUp } = humanTaskOf(element);
  checkSchema(element, "form schema", formSchema, problems);
  for (const date of [due, followUp]) {
    if (date?.isStatic !== true || Number.isFinite(Number(date.text))) continue;
    if (parseTimer(date.text.startsWith("P") ? "duration" : "date", date.text) !== null) continue;
    problems.add(element.id, element.line, `"${date.text}" is neither an ISO 8601 date nor a duration; correct it`);
  }
}

/** The variables that the model itself names. */
function namesOf({ elements, scopes }: Process): readonly string[] {
  const names = new Set([...scopes.values()].flatMap(({ data }) => data));
  for (const element of elements.values()) {
    if ("resultVariable" in element && element.resultVariable !== null) names.add(element.resultVariable);
    for (const { target } of "inputs" in element ? [...element.inputs, ...element.outputs] : []) names.add(target);
    if (!isActivity(element) || element.loop?.kind !== "multi") continue;
    if (element.loop.item !== null) names.add(element.loop.item);
    if (element.loop.output !== null) names.add(element.loop.output.variable);
  }
  return [...names];
}

/** Every evaluated expression of a process, with the element or flow that contains it. */
function* expressionsOf(process: Process): Generator<readonly [Element | Flow, Expression]> {
  for (const holder of [...process.elements.values(), ...process.flows.values()]) {
    const waiting: unknown[] = [holder];
    if ("type" in holder && holder.type === "userTask") waiting.push(humanTaskOf(holder));
    if ("script" in holder && holder.script?.format === "feel" && holder.handler === null)
      yield [holder, { text: holder.script.text.replace(/^\s*=/, ""), language: "feel", isStatic: false }];
    if ("properties" in holder) waiting.push(requestExpressions(holder.properties));
    for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
      if (typeof value !== "object" || value === null) continue;
      if (isExpression(value)) yield [holder, value];
      else waiting.push(...Object.values(value).filter((each) => each !== undefined));
    }
  }
}

function isExpression(value: object): value is Expression {
  return "isStatic" in value && "text" in value && value.isStatic === false;
}

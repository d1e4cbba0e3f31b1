import type { Expression, Mapping } from "../model/process.ts";
import { computed, expressionIn } from "./expression-text.ts";
import { type Model, modelIn, modelsIn, textIn } from "./moddle.ts";

/** Data associations: what an activity reads from data objects, and writes to them. A datum is the variable of its name. */

export function dataInputs(activity: Model): readonly Mapping[] {
  return modelsIn(activity, "dataInputAssociations").flatMap(mappingsOf);
}

export function dataOutputs(activity: Model): readonly Mapping[] {
  return modelsIn(activity, "dataOutputAssociations")
    .flatMap(mappingsOf)
    .filter(({ source, target }) => source.text !== target);
}

/** The variable that an input or output of an activity is read from, or written to; itself, if it is associated with nothing. */
export function associated(activity: Model, datum: Model): Expression {
  const read = modelsIn(activity, "dataInputAssociations").find((each) => modelIn(each, "targetRef") === datum);
  if (read !== undefined) return sourceOf(read) ?? computed(nameOf(datum));
  const written = modelsIn(activity, "dataOutputAssociations").find((each) =>
    modelsIn(each, "sourceRef").includes(datum),
  );
  const target = written === undefined ? null : modelIn(written, "targetRef");
  return computed(target === null ? nameOf(datum) : variableOf(target));
}

/** Names with spaces can't be variables of expressions. */
function mappingsOf(association: Model): readonly Mapping[] {
  const target = modelIn(association, "targetRef");
  const assignments = modelsIn(association, "assignment").flatMap((assignment) => {
    const source = expressionIn(assignment, "from");
    const to = expressionIn(assignment, "to");
    return source === null || to === null || !isName(to.text) ? [] : [{ source, target: to.text }];
  });
  if (assignments.length > 0) return assignments;
  const source = sourceOf(association);
  if (target === null || source === null || !isName(variableOf(target))) return [];
  return [{ source, target: variableOf(target) }];
}

function sourceOf(association: Model): Expression | null {
  const transformation = expressionIn(association, "transformation");
  const [source] = modelsIn(association, "sourceRef").map(variableOf);
  if (transformation !== null) return transformation;
  return source === undefined || !isName(source) ? null : computed(source);
}

function isName(text: string): boolean {
  return text !== "" && !/\s/.test(text);
}

/** The variable in which a data object, or what refers to it, is kept. */
export function variableOf(data: Model): string {
  const object = modelIn(data, "dataObjectRef") ?? modelIn(data, "dataStoreRef") ?? data;
  return textIn(object, "name") ?? object.id ?? "";
}

export function nameOf(data: Model): string {
  return textIn(data, "name") ?? data.id ?? "";
}

import { type EventTrigger, type Expression, type InstanceThrow, textOrComputed } from "../model/process.ts";
import { type GraphData, isData } from "./graph-data.ts";

/** The fields of an event's data that name its trigger. */
export const TRIGGER_FIELDS = [
  "message",
  "signal",
  "timer",
  "error",
  "escalation",
  "condition",
  "link",
  "compensation",
  "cancel",
  "terminate",
] as const;

const TIMERS = ["date", "duration", "cycle"] as const;

/** The triggers of an event: one of the trigger fields, or several in the list `triggers`. */
export function triggersIn(data: GraphData): readonly EventTrigger[] {
  const own = triggersOfFields(data);
  const listed = data.objects("triggers", TRIGGER_FIELDS).flatMap(triggersOfFields);
  if (own.length > 1) data.report("triggers", "is missing; an event with several triggers lists them there");
  if (own.length > 0 && listed.length > 0) data.report("triggers", "must contain all triggers of the event");
  return [...own, ...listed];
}

function triggersOfFields(data: GraphData): readonly EventTrigger[] {
  return TRIGGER_FIELDS.flatMap((field) => (data.has(field) ? (triggerIn(data, field) ?? []) : []));
}

function triggerIn(data: GraphData, field: (typeof TRIGGER_FIELDS)[number]): EventTrigger | null {
  switch (field) {
    case "message": {
      const message = messageIn(data);
      return message === null ? null : { kind: "message", ...message };
    }
    case "signal": {
      const name = data.expression(field, "marked");
      return name === null ? null : { kind: "signal", name };
    }
    case "timer":
      return timerIn(data);
    case "error":
      return errorIn(data);
    case "escalation":
      return escalationIn(data);
    case "condition": {
      const condition = data.expression(field, "computed");
      return condition === null ? null : { kind: "conditional", condition };
    }
    case "link":
      return { kind: "link", name: data.text(field) ?? "" };
    case "compensation":
      return compensationIn(data);
    case "cancel":
    case "terminate":
      return data.flag(field, false) ? { kind: field } : null;
  }
}

type Named = { readonly name: string; readonly computed?: Expression };

/** A message: its name, or its name and correlation key. */
export function messageIn(data: GraphData): (Named & { readonly key: Expression | null }) | null {
  const value = data.value("message");
  const inside = isData(value) ? data.object("message", ["name", "key"]) : null;
  const name = inside === null ? data.text("message") : inside.text("name");
  if (name !== null) return { ...named(name), key: inside?.expression("key", "marked") ?? null };
  if (value !== undefined) data.report("message", "has no name; add one");
  return null;
}

function timerIn(data: GraphData): EventTrigger | null {
  const inside = data.object("timer", TIMERS);
  if (inside === null) return null;
  const found = TIMERS.filter((timer) => inside.has(timer));
  const [timer] = found;
  const value = timer === undefined ? null : inside.expression(timer, "marked");
  if (found.length !== 1) data.report("timer", "must have one of date, duration, cycle");
  return timer === undefined || value === null ? null : { kind: "timer", timer, value };
}

function errorIn(data: GraphData): EventTrigger {
  if (!isData(data.value("error"))) return { kind: "error", ...codeIn(data, "error") };
  const inside = data.object("error", ["code", "failures", "codeVariable", "messageVariable", "message"]);
  if (inside === null) return { kind: "error", code: null };
  const message = inside.expression("message", "marked");
  return {
    kind: "error",
    ...codeIn(inside, "code"),
    ...variableIn(inside, "codeVariable"),
    ...variableIn(inside, "messageVariable"),
    ...(message !== null && { message }),
    ...(inside.flag("failures", false) && { failures: true }),
  };
}

function escalationIn(data: GraphData): EventTrigger {
  if (!isData(data.value("escalation"))) return { kind: "escalation", ...codeIn(data, "escalation") };
  const inside = data.object("escalation", ["code", "codeVariable"]);
  if (inside === null) return { kind: "escalation", code: null };
  return { kind: "escalation", ...codeIn(inside, "code"), ...variableIn(inside, "codeVariable") };
}

/** A variable for a part of what an event catches. */
function variableIn<Name extends string>(data: GraphData, name: Name): { readonly [Each in Name]?: string } {
  const variable = data.text(name);
  return variable === null ? {} : ({ [name]: variable } as { readonly [Each in Name]: string });
}

/** A code. `true` is any code. */
function codeIn(data: GraphData, field: string): { readonly code: string | null; readonly computed?: Expression } {
  const code = data.value(field) === true ? null : data.text(field);
  if (code === null) return { code };
  const { name, ...rest } = named(code);
  return { code: name, ...rest };
}

function compensationIn(data: GraphData): EventTrigger {
  const value = data.value("compensation");
  if (value === true || typeof value === "string")
    return { kind: "compensation", activity: value === true ? null : value, waits: true };
  const inside = data.object("compensation", ["activity", "waits"]);
  return {
    kind: "compensation",
    activity: inside?.text("activity") ?? null,
    waits: inside?.flag("waits", true) ?? true,
  };
}

/** A name or code, with its expression if it is computed. */
function named(name: string): Named {
  const expression = textOrComputed(name);
  return expression.isStatic ? { name } : { name, computed: expression };
}

/** The events that the instances of a multi-instance activity throw. */
export function throwsIn(data: GraphData): readonly InstanceThrow[] {
  return data.objects("throws", ["when", ...TRIGGER_FIELDS]).flatMap((each) => {
    const text = each.value("when");
    const when = text === "each" || text === "first" ? text : each.expression("when", "computed");
    const [trigger = null] = triggersOfFields(each);
    if (when === null) each.report("when", "must be each, first or an expression");
    return when === null ? [] : [{ when, trigger }];
  });
}

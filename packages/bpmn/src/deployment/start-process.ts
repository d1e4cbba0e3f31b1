import { kinds, LIMIT_KINDS, type LimitOptions, optionTable, PawlError, type StartOptions } from "pawl";
import type { Evaluate } from "../expressions.ts";
import { checkValues, type Forms } from "../human/forms.ts";
import type { Variables } from "../machine/state.ts";
import { humanTaskOf, inputSchemaOf } from "../model/human-task.ts";
import { PRIORITY_NAMES, type PriorityName, priorityNumber } from "../model/priority.ts";
import { type Element, type Expression, isEvent, type Process } from "../model/process.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { businessKeyTag, startedByTag, uniqueRunId } from "../program/topics.ts";

export interface StartProcessOptions extends LimitOptions {
  /** Default: the latest published version. */
  readonly version?: number;
  readonly id?: string;
  readonly tags?: readonly string[];
  /** The id of the start event. Default: the first one of the model that has no trigger. */
  readonly at?: string;
  /** The business's name of the instance, such as an order number. Called instances get the same one. */
  readonly businessKey?: string;
  /** The user who starts the instance. */
  readonly startedBy?: string;
  /** The priority of the instance, and of its tasks that have none: a number, or `low` (25), `normal` (50), `high` (75) or `urgent` (100). */
  readonly priority?: number | PriorityName;
  /** Rejects a second instance of the process with the same business key, as long as this one is retained. */
  readonly unique?: boolean;
}

/** The kind of a priority. */
export const PRIORITY = kinds.either(
  kinds.number(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  kinds.oneOf(...PRIORITY_NAMES),
);

export const START_OPTIONS = optionTable<StartProcessOptions>("start", {
  version: kinds.integer(1),
  id: kinds.newRunId,
  at: kinds.text,
  tags: kinds.tags,
  businessKey: kinds.text,
  startedBy: kinds.name,
  priority: PRIORITY,
  unique: kinds.flag,
  ...LIMIT_KINDS,
});

/** Converts the options of a process start into those of the engine. */
export function startRequest(
  process: Process,
  given: ProcessInput,
  {
    version: _,
    at: __,
    businessKey,
    startedBy,
    priority,
    unique = false,
    tags: own = [],
    ...rest
  }: StartProcessOptions,
): { readonly input: ProcessInput; readonly options: StartOptions } {
  const input: ProcessInput = {
    ...given,
    ...(startedBy !== undefined && { by: startedBy }),
    ...(priority !== undefined && { priority: priorityNumber(priority) }),
  };
  const tags = startedBy === undefined ? own : [...own, startedByTag(startedBy)];
  if (businessKey === undefined) {
    if (unique) throw new PawlError("OPTION_INVALID", "unique needs a businessKey");
    return { input, options: { ...rest, tags } };
  }
  if (businessKey === "") throw new PawlError("OPTION_INVALID", "businessKey is empty; omit it or pass a value");
  const options = { ...rest, tags: [...tags, businessKeyTag(businessKey)] };
  if (!unique) return { input: { ...input, businessKey }, options };
  if (rest.id !== undefined) {
    throw new PawlError(
      "OPTION_INVALID",
      "id cannot be combined with unique: the id is derived from the businessKey; omit id",
    );
  }
  const id = uniqueRunId(process.id, businessKey);
  return { input: { ...input, businessKey }, options: { ...options, id, onConflict: "fail" } };
}

/**
 * Checks the variables of an instance against the form and the `inputSchema` of its start event. Returns them with the default values of the
 * form. Throws `FORM_INVALID` if they do not match.
 */
export function checkedInput(
  process: Process,
  element: string | null,
  given: Variables,
  { forms, evaluate }: { readonly forms: Forms; evaluate(expression: Expression, variables: Variables): unknown },
): Variables {
  const start = startElement(process, element);
  if (start?.type !== "startEvent") return given;
  const { formId, formSchema, formDefaults } = humanTaskOf(start);
  const missing = formDefaults.filter(({ target }) => !Object.hasOwn(given, target));
  const computed = missing.map(({ source, target }) => [target, evaluate(source, given) ?? null] as const);
  const filled = computed.length === 0 ? given : Object.fromEntries([...Object.entries(given), ...computed]);
  const id = formId === null ? null : formId.isStatic ? formId.text : String(evaluate(formId, given));
  const schema = formSchema === null ? (forms[id ?? ""] ?? null) : JSON.parse(formSchema);
  const checked = schema === null ? filled : checkValues(`cannot start process ${process.id}`, schema, filled);
  const own = inputSchemaOf(start);
  return own === null ? checked : checkValues(`cannot start process ${process.id}`, own, checked);
}

/** The id of the form of a start event, if the model has it as a plain text. */
export function startFormId(process: Process, element: string | null): string | null {
  const start = startElement(process, element);
  const formId = start?.type === "startEvent" ? humanTaskOf(start).formId : null;
  return formId?.isStatic === true ? formId.text : null;
}

function startElement(process: Process, element: string | null): Element | undefined {
  return process.elements.get(element ?? process.scopes.get(process.id)?.starts[0] ?? "");
}

/** Returns the start event that the caller chose. Throws `OPTION_INVALID` if the process has no such start event without a trigger. */
export function chosenStart(process: Process, at: string): string {
  const starts = process.scopes.get(process.id)?.starts ?? [];
  const events = starts.filter((id) => process.elements.get(id)?.type === "startEvent");
  if (events.includes(at)) return at;
  const known = events.length === 0 ? "it has none" : `it has ${events.join(", ")}`;
  throw new PawlError("OPTION_INVALID", `process ${process.id} has no plain start event ${at}; ${known}`);
}

/** The start event of a process whose condition the variables meet. Null if there is none. */
export function conditionalStart(process: Process, evaluate: Evaluate, variables: Variables): string | null {
  const inside = process.scopes.get(process.id)?.elements ?? [];
  for (const id of inside) {
    const element = process.elements.get(id);
    if (element === undefined || !isEvent(element) || element.type !== "startEvent") continue;
    const isMet = element.triggers.some(
      (trigger) => trigger.kind === "conditional" && isTrue(evaluate, trigger.condition, variables),
    );
    if (isMet) return id;
  }
  return null;
}

/** A condition whose evaluation fails counts as not met. */
function isTrue(evaluate: Evaluate, ...args: Parameters<Evaluate>): boolean {
  try {
    return evaluate(...args) === true;
  } catch {
    return false;
  }
}

import { kinds, optionTable, PawlError, type StartOptions } from "pawl";
import type { Evaluate } from "../expressions.ts";
import type { Variables } from "../machine/state.ts";
import { isEvent, type Process } from "../model/process.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { businessKeyTag, uniqueRunId } from "../program/topics.ts";

export interface StartProcessOptions {
  /** Default: the latest published version. */
  readonly version?: number;
  readonly id?: string;
  readonly tags?: readonly string[];
  /** The id of the start event. Default: the first one of the model that has no trigger. */
  readonly at?: string;
  /** The business's name of the instance, such as an order number. Called instances get the same one. */
  readonly businessKey?: string;
  /** Rejects a second instance of the process with the same business key, as long as this one is retained. */
  readonly unique?: boolean;
}

export const START_OPTIONS = optionTable<StartProcessOptions>("start", {
  version: kinds.integer(1),
  id: kinds.newRunId,
  at: kinds.text,
  tags: kinds.tags,
  businessKey: kinds.text,
  unique: kinds.flag,
});

/** Converts the options of a process start into those of the engine. */
export function startRequest(
  process: Process,
  input: ProcessInput,
  { version: _, at: __, businessKey, unique = false, tags = [], ...rest }: StartProcessOptions,
): { readonly input: ProcessInput; readonly options: StartOptions } {
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

import type { Listener } from "../model/process.ts";
import { listenerHandler, retriesOf } from "./extensions.ts";
import { type Model, modelIn, modelsIn, tagOf, textIn } from "./moddle.ts";

/** The listeners of an element, in the order in which they are called, and those that are never called. */
export interface ReadListeners {
  readonly listeners: readonly Listener[];
  readonly ignored: readonly string[];
}

const EXECUTION: Readonly<Record<string, Listener["event"]>> = { start: "start", end: "end" };
const TASK: Readonly<Record<string, Listener["event"]>> = {
  create: "create",
  creating: "create",
  complete: "complete",
  completing: "complete",
};
const ORDER: readonly Listener["event"][] = ["start", "create", "complete", "end"];
/** An event that throws one of these does not leave by itself, so nothing comes after it. */
const ENDS_TOKEN = /^bpmn:(?:Error|Terminate|Cancel|Link)EventDefinition$/;

/**
 * Reads execution and task listeners. A listener names its handler as a task does: by a type, a class or a delegate expression. A
 * listener that is an expression or a script, or for an event that no element has here, such as the assignment of a task, is ignored.
 */
export function listenersOf(model: Model): ReadListeners {
  const listeners: Listener[] = [];
  const ignored: string[] = [];
  for (const found of declaredIn(model)) {
    const kind = tagOf(found);
    const told = textIn(found, "event") ?? textIn(found, "eventType") ?? "";
    const event = (kind === "taskListener" ? TASK : EXECUTION)[told];
    const handler = listenerHandler(found);
    const phase = event === undefined ? null : phaseOf(model, event);
    if (event === undefined || handler === null || phase === null) ignored.push(`${found.$type} ${told}`.trim());
    else listeners.push({ event, phase, handler, retry: retriesOf(textIn(found, "retries")) });
  }
  return { listeners: listeners.sort((a, b) => ORDER.indexOf(a.event) - ORDER.indexOf(b.event)), ignored };
}

function declaredIn(model: Model): readonly Model[] {
  const isUserTask = tagOf(model) === "userTask";
  return modelsIn(modelIn(model, "extensionElements"), "values").flatMap((each): readonly Model[] => {
    switch (localTag(each)) {
      case "executionListener":
        return [each];
      case "taskListener":
        return isUserTask ? [each] : [];
      case "executionListeners":
        return each.$children ?? [];
      case "taskListeners":
        return isUserTask ? (each.$children ?? []) : [];
      default:
        return [];
    }
  });
}

/** Null if the element has no such moment: it is not known when a token leaves an event-based gateway. */
function phaseOf(model: Model, event: Listener["event"]): Listener["phase"] | null {
  if (event === "start" || event === "create") return "before";
  const tag = tagOf(model);
  if (tag === "eventBasedGateway") return null;
  if (tag.endsWith("Gateway")) return "before";
  const isThrowing = tag === "endEvent" || tag === "intermediateThrowEvent";
  const definitions = [...modelsIn(model, "eventDefinitions"), ...modelsIn(model, "eventDefinitionRef")];
  return isThrowing && definitions.some(({ $type }) => ENDS_TOKEN.test($type)) ? "before" : "after";
}

function localTag({ $type }: Model): string {
  return $type.slice($type.indexOf(":") + 1);
}

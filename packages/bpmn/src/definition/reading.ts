import { type Model, modelIn, modelsIn, textIn } from "./moddle.ts";
import type { Problems } from "./problem.ts";

/** What every part of the reading of one document needs. */
export interface Reading {
  readonly problems: Problems;
  /** The line of the element with this id. */
  lineOf(id: string | null): number | null;
  /** The id that a qualified name means. */
  idOf(name: string): string;
  /** Scripts of global tasks, which bpmn-moddle does not read. */
  readonly globalScripts: ReadonlyMap<string, string>;
  readonly globalTasks: ReadonlyMap<string, Model>;
  /** Names of messages by the elements between which they flow. */
  readonly flowing: ReadonlyMap<string, string>;
}

/** Message flows give names to messages that the events at their ends do not name. */
export function messageFlowNames(rootElements: readonly Model[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const collaboration of rootElements.filter(({ $type }) => $type === "bpmn:Collaboration")) {
    for (const flow of modelsIn(collaboration, "messageFlows")) {
      const name = textIn(modelIn(flow, "messageRef"), "name") ?? flow.id ?? "";
      for (const end of ["sourceRef", "targetRef"]) {
        const id = modelIn(flow, end)?.id;
        if (id !== undefined && !names.has(id)) names.set(id, name);
      }
    }
  }
  return names;
}

/** The name of the message that an event or task is about. */
export function messageName(reading: Reading, holder: Model, element: Model): string {
  const message = modelIn(holder, "messageRef");
  const operation = modelIn(modelIn(holder, "operationRef"), "inMessageRef");
  const id = element.id ?? "";
  return (
    textIn(message, "name") ??
    message?.id ??
    textIn(operation, "name") ??
    operation?.id ??
    reading.flowing.get(id) ??
    textIn(element, "name") ??
    id
  );
}

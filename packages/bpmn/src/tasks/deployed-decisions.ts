import type { Resource, Resources } from "../deployment/resources.ts";
import type { DecisionModel } from "../dmn/decision-model.ts";
import { readDecisions } from "../dmn/read-decisions.ts";
import type { Pins } from "../model/pins.ts";
import { type Job, NoHandlerError, type TaskHandler } from "../program/handlers.ts";
import { decisionValue } from "./decision-tasks.ts";

const models = new WeakMap<Resource, DecisionModel>();

/** The handler of business rule tasks if the application registers none: it evaluates deployed decisions. */
export function deployedDecisions(resources: Resources, { decisions }: Pins): TaskHandler {
  return async (job) => {
    const { id, type, name, binding } = decisionOf(job);
    if (name === null)
      throw new NoHandlerError(`${id} has no handler; register one for every ${type}, or one named ${id}`);
    const pinned = binding?.kind === "deployment" ? decisions[name] : undefined;
    const found =
      pinned === undefined
        ? await resources.decision(name, binding)
        : await resources.version("decisions", pinned.model, pinned.version);
    if (found === null) {
      const which = binding?.kind === "versionTag" ? ` with version tag ${binding.tag}` : "";
      throw new NoHandlerError(`${id} needs decision ${name}${which}, which is not deployed; deploy its model`);
    }
    return decisionValue(modelOf(found), name, job, {});
  };
}

function decisionOf({ element }: Job) {
  const { id, type } = element;
  const name = "decision" in element ? element.decision : null;
  return { id, type, name, binding: ("binding" in element ? element.binding : undefined) ?? null };
}

function modelOf(resource: Resource): DecisionModel {
  const known = models.get(resource);
  if (known !== undefined) return known;
  const made = readDecisions(resource.texts);
  models.set(resource, made);
  return made;
}

import { segmentName } from "../model/location.ts";
import type { Command, StepCommand, StepInfo } from "../workflow/command.ts";

/** In place of a step's body. */
export type StepStub = (info: StepInfo) => unknown;

/** By the name of a step, or by its location where two steps have one name. */
export type StepStubs = Readonly<Record<string, StepStub>>;

/** The name that a step was given in the code: the last of its location, without the number of its repetition. */
export function stepName(location: string): string {
  return segmentName(location.slice(location.lastIndexOf("/") + 1));
}

/** The command with the body that stands in for its own, if there is one. */
export function withStub(command: Command, stubs: StepStubs): Command {
  if (command.kind !== "step") return command;
  const body = stubOf(stubs, command.location);
  if (body === null) return command;
  const { transact: _, ...rest } = command;
  const replaced: StepCommand = { ...rest, body };
  return replaced;
}

function stubOf(stubs: StepStubs, location: string): StepStub | null {
  for (const name of [location, stepName(location)]) {
    const body = Object.hasOwn(stubs, name) ? stubs[name] : undefined;
    if (body !== undefined) return body;
  }
  return null;
}

import { segmentName } from "../model/location.ts";
import type { Command, StepCommand, StepInfo } from "../workflow/command.ts";

/** A function that replaces a step body. */
export type StepStub = (info: StepInfo) => unknown;

/** Stubs by step name, or by location if several steps have the same name. */
export type StepStubs = Readonly<Record<string, StepStub>>;

/** The name of a step in the code: the last segment of its location without its repetition number. */
export function stepName(location: string): string {
  return segmentName(location.slice(location.lastIndexOf("/") + 1));
}

/** Returns the command with the stub as its body, or the command itself if it has no stub. */
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

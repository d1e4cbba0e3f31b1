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
  const name = stubNameOf(stubs, command.location);
  return name === null ? command : stubbed(command, stubs, name);
}

/** Stubs that remember which of them were used, and which steps had none. */
export class WatchedStubs {
  readonly #stubs: StepStubs;
  readonly #unused: Set<string>;
  /** Names and locations of steps that had no stub. */
  readonly #own = new Set<string>();

  constructor(stubs: StepStubs) {
    this.#stubs = stubs;
    this.#unused = new Set(Object.keys(stubs));
  }

  /** `withStub` with these stubs. */
  apply(command: Command): Command {
    if (command.kind !== "step") return command;
    const name = stubNameOf(this.#stubs, command.location);
    if (name === null) {
      if (this.#own.size < OWN_MAX) this.#own.add(stepName(command.location)).add(command.location);
      return command;
    }
    this.#unused.delete(name);
    return stubbed(command, this.#stubs, name);
  }

  /** Describes the stubs that no step used. Null if there is none, or if no step ran its own body: then no stub was missed. */
  missed(): string | null {
    if (this.#unused.size === 0 || this.#own.size === 0) return null;
    const named = [...this.#unused].slice(0, NAMED_MAX).map((name) => {
      const near = nearest(name, this.#own);
      return `"${name}" (the nearest step without a stub is "${near}")`;
    });
    const rest = this.#unused.size - named.length;
    return rest === 0 ? named.join(", ") : `${named.join(", ")} and ${rest} more`;
  }
}

/** Names and locations that are compared with an unused stub. */
const OWN_MAX = 1_000;
const NAMED_MAX = 5;

function stubbed(command: StepCommand, stubs: StepStubs, name: string): Command {
  const { transact: _, ...rest } = command;
  return { ...rest, body: stubs[name] ?? command.body };
}

/** The key of the stub that replaces the step at a location. */
function stubNameOf(stubs: StepStubs, location: string): string | null {
  for (const name of [location, stepName(location)]) {
    if (Object.hasOwn(stubs, name) && stubs[name] !== undefined) return name;
  }
  return null;
}

function nearest(name: string, candidates: Iterable<string>): string {
  let best = "";
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** The number of characters to insert, remove or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, length) => length);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

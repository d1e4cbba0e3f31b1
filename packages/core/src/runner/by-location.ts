import type { Command } from "../workflow/command.ts";

/** What a program has asked for, as others look at it. */
export type Asked = Pick<ByLocation, "size" | "get" | "values">;

/**
 * Commands by their location, in the order they were added. Most programs ask for one thing at a time, and a replay adds and
 * removes one at each record: a single one needs no map.
 */
export class ByLocation {
  #only: Command | null = null;
  /** All of them, while there were several since there was none. */
  #several: Map<string, Command> | null = null;

  get size(): number {
    if (this.#several !== null) return this.#several.size;
    return this.#only === null ? 0 : 1;
  }

  get(location: string): Command | undefined {
    if (this.#several !== null) return this.#several.get(location);
    return this.#only?.location === location ? this.#only : undefined;
  }

  values(): Iterable<Command> {
    if (this.#several !== null) return this.#several.values();
    return this.#only === null ? [] : [this.#only];
  }

  add(command: Command): void {
    if (this.#several !== null) {
      this.#several.set(command.location, command);
    } else if (this.#only === null || this.#only.location === command.location) {
      this.#only = command;
    } else {
      this.#several = new Map([
        [this.#only.location, this.#only],
        [command.location, command],
      ]);
      this.#only = null;
    }
  }

  remove(location: string): void {
    if (this.#several === null) {
      if (this.#only?.location === location) this.#only = null;
      return;
    }
    this.#several.delete(location);
    if (this.#several.size === 0) this.#several = null;
  }

  clear(): void {
    this.#only = null;
    this.#several = null;
  }
}

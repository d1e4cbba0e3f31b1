import type { ChangeLog } from "./change-log.ts";
import { KEYS } from "./keys.ts";

/** A segment of a location: the number of its name, or that number and the `#n` of a repeated name, or the number of an iteration. */
export type Segment = number | readonly [name: number, use: number] | readonly [iteration: number];

const ITERATION = /^~(0|[1-9]\d*)$/;
const USED_AGAIN = /^(.*)#([1-9]\d*)$/s;

/** Numbers names, so that each is stored once, even if many records have it in their location. */
export class NameRegistry {
  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #changes: ChangeLog;

  constructor(changes: ChangeLog) {
    this.#changes = changes;
  }

  /** Called in ascending order of numbers. */
  load(name: string): void {
    this.#numbers.set(name, this.#names.length);
    this.#names.push(name);
  }

  segments(location: string): readonly Segment[] {
    return location.split("/").map((segment) => {
      const iteration = ITERATION.exec(segment)?.[1];
      if (iteration !== undefined && Number.isSafeInteger(Number(iteration))) return [Number(iteration)];
      const [, name, use] = USED_AGAIN.exec(segment) ?? [];
      if (name === undefined || !Number.isSafeInteger(Number(use))) return this.#number(segment);
      return [this.#number(name), Number(use)];
    });
  }

  location(segments: readonly Segment[]): string {
    return segments.map((segment) => this.#text(segment)).join("/");
  }

  #text(segment: Segment): string {
    if (typeof segment === "number") return this.#name(segment);
    const [first, use] = segment;
    return use === undefined ? `~${first}` : `${this.#name(first)}#${use}`;
  }

  #name(number: number): string {
    const name = this.#names[number];
    if (name === undefined) throw new Error(`name ${number} not found in the name registry`);
    return name;
  }

  #number(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#names.length;
    this.load(name);
    this.#changes.put([KEYS.name, number], () => name);
    return number;
  }
}

/** The list is shortened when this many places at its start are unused. */
const TAKEN_MAX = 64;

/** A first-in, first-out queue. The cost of a call does not depend on the length, unlike `Array.shift`, which moves every item. */
export class FifoQueue<Item> {
  #items: Array<Item | undefined> = [];
  /** The place of the oldest item. The places before it were taken. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest item. Undefined if there is none. */
  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Takes the oldest item. Undefined if there is none. */
  take(): Item | undefined {
    const item = this.#items[this.#head];
    if (this.size === 0) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head >= TAKEN_MAX && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Returns the oldest items, at most `count`, without taking them. */
  oldest(count: number): Item[] {
    return this.#items.slice(this.#head, this.#head + count) as Item[];
  }
}

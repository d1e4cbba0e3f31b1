/** A heap with fewer items is never swept. */
const SWEEP_MIN = 64;

/**
 * A binary heap of items by time, earliest first. An item that is closed before its time is dropped when it reaches the top, or by a
 * sweep when the heap has doubled since the last sweep. So the size of the heap is bounded by the number of open items.
 */
export class DeadlineHeap<Item> {
  readonly #isOpen: (item: Item, at: number) => boolean;
  #heap: Array<{ readonly at: number; readonly item: Item }> = [];
  #sweepAt = SWEEP_MIN;

  constructor(isOpen: (item: Item, at: number) => boolean) {
    this.#isOpen = isOpen;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(at: number, item: Item): void {
    if (this.#heap.length >= this.#sweepAt) this.#sweep();
    this.#heap.push({ at, item });
    this.#rise(this.#heap.length - 1);
  }

  /** The earliest time of an open item. Null if there is none. */
  earliest(): number | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return null;
      if (this.#isOpen(first.item, first.at)) return first.at;
      this.#pop();
    }
  }

  /** Removes and returns the earliest open item that is due. Null if there is none. */
  takeDue(now: number): Item | null {
    const at = this.earliest();
    return at === null || at > now ? null : this.#pop();
  }

  #sweep(): void {
    const open = this.#heap.filter(({ item, at }) => this.#isOpen(item, at));
    // A sorted array is a heap.
    this.#heap = open.sort((a, b) => a.at - b.at);
    this.#sweepAt = Math.max(SWEEP_MIN, 2 * open.length);
  }

  #pop(): Item | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length > 0) {
      heap[0] = last;
      this.#sink();
    }
    return first.item;
  }

  #rise(from: number): void {
    for (let index = from; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= this.#at(index)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(): void {
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      const right = left + 1;
      let least = index;
      if (this.#at(left) < this.#at(least)) least = left;
      if (this.#at(right) < this.#at(least)) least = right;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    const first = heap[a];
    const second = heap[b];
    if (first === undefined || second === undefined) return;
    heap[a] = second;
    heap[b] = first;
  }
}

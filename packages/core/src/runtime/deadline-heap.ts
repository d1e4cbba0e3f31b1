/** Below this many things a heap is not looked through for settled ones. */
const SWEEP_MIN = 64;

/**
 * Things with a time, earliest first: a binary heap. A thing that is settled before its time is dropped when it surfaces, or
 * when the heap has doubled since it was last looked through: so the heap is bounded by what is open.
 */
export class DeadlineHeap<Thing> {
  readonly #isOpen: (thing: Thing, at: number) => boolean;
  #heap: Array<{ readonly at: number; readonly thing: Thing }> = [];
  #sweepAt = SWEEP_MIN;

  constructor(isOpen: (thing: Thing, at: number) => boolean) {
    this.#isOpen = isOpen;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(at: number, thing: Thing): void {
    if (this.#heap.length >= this.#sweepAt) this.#sweep();
    this.#heap.push({ at, thing });
    this.#rise(this.#heap.length - 1);
  }

  /** The earliest time among open things; null if there is none. */
  earliest(): number | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return null;
      if (this.#isOpen(first.thing, first.at)) return first.at;
      this.#pop();
    }
  }

  /** Takes the earliest open thing whose time has come; null if there is none. */
  takeDue(now: number): Thing | null {
    const at = this.earliest();
    return at === null || at > now ? null : this.#pop();
  }

  #sweep(): void {
    const open = this.#heap.filter(({ thing, at }) => this.#isOpen(thing, at));
    // A sorted array is a heap.
    this.#heap = open.sort((a, b) => a.at - b.at);
    this.#sweepAt = Math.max(SWEEP_MIN, 2 * open.length);
  }

  #pop(): Thing | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length > 0) {
      heap[0] = last;
      this.#sink();
    }
    return first.thing;
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

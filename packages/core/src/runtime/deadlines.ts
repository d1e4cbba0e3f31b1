/** Things with a time, earliest first: a binary heap. A thing that is settled before its time is dropped when it surfaces. */
export class Deadlines<Thing> {
  readonly #heap: Array<{ readonly at: number; readonly thing: Thing }> = [];

  add(at: number, thing: Thing): void {
    const heap = this.#heap;
    let index = heap.push({ at, thing }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= this.#at(index)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** The earliest time among things that `isOpen`; null if there is none. */
  earliest(isOpen: (thing: Thing, at: number) => boolean): number | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return null;
      if (isOpen(first.thing, first.at)) return first.at;
      this.#pop();
    }
  }

  /** Takes the earliest open thing whose time has come; null if there is none. */
  takeDue(now: number, isOpen: (thing: Thing, at: number) => boolean): Thing | null {
    const at = this.earliest(isOpen);
    return at === null || at > now ? null : this.#pop();
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

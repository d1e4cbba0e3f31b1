import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeadlineHeap } from "./deadline-heap.ts";

interface Item {
  readonly n: number;
  open: boolean;
}

describe("a deadline heap", () => {
  it("due items are taken earliest first, and other items stay", () => {
    const heap = new DeadlineHeap<string>(() => true);
    for (const [at, item] of [
      [30, "c"],
      [10, "a"],
      [20, "b"],
    ] as const)
      heap.add(at, item);
    expect(heap.earliest()).toBe(10);
    expect(heap.takeDue(9)).toBeNull();
    expect([heap.takeDue(20), heap.takeDue(20), heap.takeDue(20)]).toEqual(["a", "b", null]);
    expect(heap.earliest()).toBe(30);
  });

  it("closed items are dropped, so the size is bounded by the open items", () => {
    const heap = new DeadlineHeap<Item>(({ open }) => open);
    for (let n = 0; n < 100_000; n += 1) {
      const item = { n, open: true };
      heap.add(1_000_000 - n, item);
      item.open = false;
    }
    expect(heap.size).toBeLessThan(1_000);
    expect(heap.earliest()).toBeNull();
    expect(heap.size).toBe(0);
  });

  it("a deadline heap behaves like a sorted list under random adds, closes and takes", () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), at: fc.nat(100) }),
      fc.record({ kind: fc.constant("close" as const), pick: fc.nat(1_000) }),
      fc.record({ kind: fc.constant("take" as const), now: fc.nat(100) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 300 }), (actions) => {
        const heap = new DeadlineHeap<Item>(({ open }) => open);
        let model: Array<{ at: number; item: Item }> = [];
        let n = 0;
        for (const each of actions) {
          if (each.kind === "add") {
            const item = { n: n++, open: true };
            heap.add(each.at, item);
            model.push({ at: each.at, item });
          } else if (each.kind === "close" && model.length > 0) {
            const [closed] = model.splice(each.pick % model.length, 1);
            closed!.item.open = false;
          } else if (each.kind === "take") {
            const earliest = model.length === 0 ? null : Math.min(...model.map(({ at }) => at));
            expect(heap.earliest()).toBe(earliest);
            const taken = heap.takeDue(each.now);
            const due = earliest !== null && earliest <= each.now;
            expect(taken !== null).toBe(due);
            if (taken !== null) {
              expect(model.find(({ item }) => item === taken)?.at).toBe(earliest);
              model = model.filter(({ item }) => item !== taken);
            }
          }
        }
      }),
    );
  });
});

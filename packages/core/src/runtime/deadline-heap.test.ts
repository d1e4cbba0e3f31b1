import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeadlineHeap } from "./deadline-heap.ts";

interface Thing {
  readonly n: number;
  open: boolean;
}

describe("deadlines", () => {
  it("give what is due, earliest first, and nothing that is not", () => {
    const deadlines = new DeadlineHeap<string>(() => true);
    for (const [at, thing] of [
      [30, "c"],
      [10, "a"],
      [20, "b"],
    ] as const)
      deadlines.add(at, thing);
    expect(deadlines.earliest()).toBe(10);
    expect(deadlines.takeDue(9)).toBeNull();
    expect([deadlines.takeDue(20), deadlines.takeDue(20), deadlines.takeDue(20)]).toEqual(["a", "b", null]);
    expect(deadlines.earliest()).toBe(30);
  });

  it("drop what is settled, and are bounded by what is open", () => {
    const deadlines = new DeadlineHeap<Thing>(({ open }) => open);
    for (let n = 0; n < 100_000; n += 1) {
      const thing = { n, open: true };
      deadlines.add(1_000_000 - n, thing);
      thing.open = false;
    }
    expect(deadlines.size).toBeLessThan(1_000);
    expect(deadlines.earliest()).toBeNull();
    expect(deadlines.size).toBe(0);
  });

  it("behave like a sorted list, whatever is added, settled and taken", () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), at: fc.nat(100) }),
      fc.record({ kind: fc.constant("settle" as const), pick: fc.nat(1_000) }),
      fc.record({ kind: fc.constant("take" as const), now: fc.nat(100) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 300 }), (actions) => {
        const deadlines = new DeadlineHeap<Thing>(({ open }) => open);
        let model: Array<{ at: number; thing: Thing }> = [];
        let n = 0;
        for (const each of actions) {
          if (each.kind === "add") {
            const thing = { n: n++, open: true };
            deadlines.add(each.at, thing);
            model.push({ at: each.at, thing });
          } else if (each.kind === "settle" && model.length > 0) {
            const [settled] = model.splice(each.pick % model.length, 1);
            settled!.thing.open = false;
          } else if (each.kind === "take") {
            const earliest = model.length === 0 ? null : Math.min(...model.map(({ at }) => at));
            expect(deadlines.earliest()).toBe(earliest);
            const taken = deadlines.takeDue(each.now);
            const due = earliest !== null && earliest <= each.now;
            expect(taken !== null).toBe(due);
            if (taken !== null) {
              expect(model.find(({ thing }) => thing === taken)?.at).toBe(earliest);
              model = model.filter(({ thing }) => thing !== taken);
            }
          }
        }
      }),
    );
  });
});

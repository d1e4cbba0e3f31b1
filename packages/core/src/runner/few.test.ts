import { expect, it } from "vitest";
import { seededSequence } from "../runtime/random.ts";
import { Few } from "./few.ts";

it("has the members of a set, in the same order, whatever is added and deleted", () => {
  const next = seededSequence(20_261_116);
  const few = new Few<string>();
  const set = new Set<string>();
  for (let n = 0; n < 2_000; n += 1) {
    const member = "abc".charAt(Math.floor(next() * 3));
    if (next() < 0.45) {
      few.add(member);
      set.add(member);
    } else if (next() < 0.97) {
      expect(few.delete(member)).toBe(set.delete(member));
    } else {
      few.clear();
      set.clear();
    }
    expect(few.values()).toEqual([...set]);
    expect([few.isEmpty, few.first, few.has(member)]).toEqual([set.size === 0, [...set][0] ?? null, set.has(member)]);
  }
});

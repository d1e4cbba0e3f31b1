import { expect, it } from "vitest";
import { seededSequence } from "../runtime/random.ts";
import { firstOf, hasMember, membersOf, type SmallSet, withMember, withoutMember } from "./small-set.ts";

it("a small set has the same members in the same order as a Set", () => {
  const next = seededSequence(20_261_116);
  const members = ["a", "b", "c"].map((name) => ({ name }));
  let few: SmallSet<{ readonly name: string }> = null;
  const set = new Set<{ readonly name: string }>();
  for (let n = 0; n < 2_000; n += 1) {
    const member = members[Math.floor(next() * 3)] ?? { name: "none" };
    if (next() < 0.45) {
      few = withMember(few, member);
      set.add(member);
    } else {
      few = withoutMember(few, member);
      set.delete(member);
    }
    expect(membersOf(few)).toEqual([...set]);
    expect(few === null).toBe(set.size === 0);
    expect(firstOf(few)).toBe([...set][0] ?? null);
    expect(hasMember(few, member)).toBe(set.has(member));
  }
});

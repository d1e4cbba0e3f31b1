import { describe, expect, it } from "vitest";
import { type Random, seededRandom, seededSequence, systemRandom } from "./random.ts";

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOW = 1_704_067_200_000;

describe.each([
  ["system", systemRandom],
  ["seeded", () => seededRandom(42)],
] as ReadonlyArray<readonly [string, () => Random]>)("%s randomness", (_, create) => {
  it("next returns evenly distributed numbers in [0, 1)", () => {
    const random = create();
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 20_000; i += 1) {
      const value = random.next();
      expect(value >= 0 && value < 1).toBe(true);
      tenths[Math.floor(value * 10)]! += 1;
    }
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(300);
  });

  it("ids are unique UUIDs of version 7, sorted by time", () => {
    const random = create();
    const ids = Array.from({ length: 5_000 }, (_id, n) => random.id(NOW + n));
    for (const id of ids) expect(id).toMatch(UUID_7);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort()).toEqual(ids);
  });

  it("ids are unique within one millisecond, and valid for negative, fractional and large times", () => {
    const random = create();
    expect(new Set(Array.from({ length: 5_000 }, () => random.id(NOW))).size).toBe(5_000);
    for (const now of [0, -1, 0.5, 2 ** 47]) expect(random.id(now)).toMatch(UUID_7);
  });
});

describe("a seed", () => {
  it("the same seed repeats numbers and ids, and another seed gives different ones", () => {
    const draw = (seed: number): unknown[] => {
      const random = seededRandom(seed);
      return [random.next(), random.id(NOW), random.next()];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it("a seed can be any number", () => {
    for (const seed of [0, -1, 2 ** 32, 2 ** 53, 0.5, Number.NaN]) {
      const next = seededSequence(seed);
      expect(new Set([next(), next(), next()]).size).toBe(3);
    }
  });
});

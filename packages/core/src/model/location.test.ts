import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nameSegment, nextLocation, type Scope, scopeAt, segmentName } from "./location.ts";

/** Names with many of the characters that mean something in a location. */
const name = fc.oneof(
  fc.string({ minLength: 1, unit: fc.constantFrom("a", "/", "%", "#", "~", "2", "F", "5", "3", "7", "E") }),
  fc.string({ minLength: 1, unit: "binary" }),
);

function inside(location: string): Scope {
  return scopeAt(`${location}/`);
}

describe("a segment", () => {
  test.each([
    ["charge", "charge"],
    ["a/b", "a%2Fb"],
    ["~3", "%7E3"],
    ["a#2", "a%232"],
    ["100%", "100%25"],
    ["%2F", "%252F"],
    ["ä 💥", "ä 💥"],
  ])("the segment of name %j is %j", (text, segment) => {
    expect(nameSegment(text)).toBe(segment);
    expect(segmentName(segment)).toBe(text);
  });

  test("gives its name back, with or without a number", () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 2, max: 1_000 }), (text, count) => {
        expect(segmentName(nameSegment(text))).toBe(text);
        expect(segmentName(`${nameSegment(text)}#${count}`)).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test("holds nothing that means something in a location", () => {
    fc.assert(
      fc.property(name, (text) => {
        expect(nameSegment(text)).not.toMatch(/[/~#]/);
      }),
    );
  });
});

describe("locations", () => {
  test("number a name that is used again in its scope", () => {
    const scope = scopeAt("");
    expect(["a", "b", "a", "a", "b"].map((each) => nextLocation(scope, each))).toEqual(["a", "b", "a#2", "a#3", "b#2"]);
  });

  test("number each scope by itself", () => {
    const outer = scopeAt("");
    const first = inside(nextLocation(outer, "loop"));
    const second = inside(nextLocation(outer, "loop"));
    expect(nextLocation(first, "a")).toBe("loop/a");
    expect(nextLocation(second, "a")).toBe("loop#2/a");
    expect(nextLocation(first, "a")).toBe("loop/a#2");
  });

  test("take names of Object's own for names", () => {
    const scope = scopeAt("");
    for (const each of ["__proto__", "constructor", "toString"]) {
      expect(nextLocation(scope, each)).toBe(each);
      expect(nextLocation(scope, each)).toBe(`${each}#2`);
    }
  });

  test("locations in one scope are all different, whatever their names are", () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 30 }), (names) => {
        const scope = scopeAt("");
        const locations = [...names, ...names].map((each) => nextLocation(scope, each));
        expect(new Set(locations).size).toBe(locations.length);
      }),
    );
  });

  test("are different texts when their paths of names and numbers differ", () => {
    const step = fc.tuple(name, fc.integer({ min: 1, max: 12 }));
    const path = fc.array(step, { minLength: 1, maxLength: 4 });
    const locate = (steps: readonly (readonly [string, number])[]): string => {
      let scope = scopeAt("");
      let location = "";
      for (const [text, count] of steps) {
        for (let use = 0; use < count; use++) location = nextLocation(scope, text);
        scope = inside(location);
      }
      return location;
    };
    fc.assert(
      fc.property(path, path, (one, other) => {
        expect(locate(one) === locate(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 1_000 },
    );
  });

  test("can be taken apart into their names", () => {
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
        let scope = scopeAt("");
        let location = "";
        for (const text of names) {
          location = nextLocation(scope, text);
          scope = inside(location);
        }
        expect(location.split("/").map(segmentName)).toEqual(names);
      }),
    );
  });
});

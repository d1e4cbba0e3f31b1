import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nameSegment, nextLocation, type Scope, scopeAt, segmentName } from "./location.ts";

/** Names with many characters that are reserved in locations. */
const name = fc.oneof(
  fc.string({ minLength: 1, unit: fc.constantFrom("a", "/", "%", "#", "~", "2", "F", "5", "3", "7", "E") }),
  fc.string({ minLength: 1, unit: "binary" }),
);

function inside(location: string): Scope {
  return scopeAt(`${location}/`);
}

describe("segments", () => {
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

  test("a segment decodes to its name, with or without a number", () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 2, max: 1_000 }), (text, count) => {
        expect(segmentName(nameSegment(text))).toBe(text);
        expect(segmentName(`${nameSegment(text)}#${count}`)).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a segment contains no reserved character", () => {
    fc.assert(
      fc.property(name, (text) => {
        expect(nameSegment(text)).not.toMatch(/[/~#]/);
      }),
    );
  });
});

describe("locations", () => {
  test("a name used again in its scope gets a number", () => {
    const scope = scopeAt("");
    expect(["a", "b", "a", "a", "b"].map((each) => nextLocation(scope, each))).toEqual(["a", "b", "a#2", "a#3", "b#2"]);
  });

  test("each scope numbers its names separately", () => {
    const outer = scopeAt("");
    const first = inside(nextLocation(outer, "loop"));
    const second = inside(nextLocation(outer, "loop"));
    expect(nextLocation(first, "a")).toBe("loop/a");
    expect(nextLocation(second, "a")).toBe("loop#2/a");
    expect(nextLocation(first, "a")).toBe("loop/a#2");
  });

  test("names of Object's properties are ordinary names", () => {
    const scope = scopeAt("");
    for (const each of ["__proto__", "constructor", "toString"]) {
      expect(nextLocation(scope, each)).toBe(each);
      expect(nextLocation(scope, each)).toBe(`${each}#2`);
    }
  });

  test("all locations of one scope are different", () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 30 }), (names) => {
        const scope = scopeAt("");
        const locations = [...names, ...names].map((each) => nextLocation(scope, each));
        expect(new Set(locations).size).toBe(locations.length);
      }),
    );
  });

  test("different paths of names and numbers have different locations", () => {
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

  test("a location can be split into its names", () => {
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

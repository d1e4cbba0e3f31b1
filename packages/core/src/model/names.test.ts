import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextLocation, scopeAt } from "./location.ts";
import { checkName, checkRunId, childRunId } from "./names.ts";

const unfit: readonly (readonly [string, unknown, string])[] = [
  ["empty", "", "is empty"],
  ["too long", "x".repeat(256), "is longer than 255 characters"],
  ["NUL", "a\0b", "contains a control character or half a surrogate pair"],
  ["a line break", "a\n", "contains a control character or half a surrogate pair"],
  ["DEL", "a\x7f", "contains a control character or half a surrogate pair"],
  ["a C1 control", "a\x85", "contains a control character or half a surrogate pair"],
  ["the first half of a pair", "a\ud83d", "contains a control character or half a surrogate pair"],
  ["the second half of a pair", "\udca5b", "contains a control character or half a surrogate pair"],
  ["a number", 5, "is not a string"],
  ["undefined", undefined, "is not a string"],
  ["null", null, "is not a string"],
  ["an array of a text", ["a"], "is not a string"],
  ["a String object", Object("a"), "is not a string"],
];

const fit = [
  "a",
  "order-1",
  "%",
  "_",
  "a:b",
  "a/b",
  "/",
  "a/",
  "~3",
  "#2",
  "Ä",
  "A\u0308",
  "💥",
  "x".repeat(255),
  " ",
  "__proto__",
];

describe("checkRunId", () => {
  test.each(fit)("a run id may be %j", (id) => {
    expect(checkRunId(id)).toBe(id);
  });

  test.each(unfit)("a run id may not be %s", (_, id, flaw) => {
    expect(() => checkRunId(id)).toThrow(
      expect.objectContaining({ code: "ID_INVALID", message: expect.stringContaining(flaw) }),
    );
  });

  test("a run id chosen by a caller must not contain `//`", () => {
    for (const id of ["a//b", "//", "///", "a//", "//a"]) {
      expect(() => checkRunId(id)).toThrow(
        `run id ${JSON.stringify(id)} contains \`//\`, which is reserved for the ids of children`,
      );
    }
  });

  test("the error about a long run id contains only its beginning", () => {
    expect(() => checkRunId("a\nb")).toThrow('run id "a\\nb" contains a control character');
    expect(() => checkRunId("y".repeat(10_000))).toThrow(/^.{1,200}$/);
  });
});

describe("checkName", () => {
  test.each([...fit, "a//b"])("a name may be %j", (name) => {
    expect(checkName(name, "step name")).toBe(name);
  });

  test.each(unfit)("a name may not be %s", (_, name, flaw) => {
    expect(() => checkName(name, "step name")).toThrow(
      expect.objectContaining({
        code: "NAME_INVALID",
        message: expect.stringMatching(new RegExp(`^step name .*${flaw}`)),
      }),
    );
  });
});

describe("childRunId", () => {
  const name = fc.string({
    minLength: 1,
    maxLength: 255,
    unit: fc.constantFrom("a", "b", "/", "~", "#", "2", ":", "💥"),
  });
  const parentId = name.filter((id) => !id.includes("//") && id.length <= 255);
  const location = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => {
    const scope = scopeAt("");
    return names.map((each) => nextLocation(scope, each)).join("/");
  });

  test("a child's id is its parent's id and the location", () => {
    expect(childRunId("order-1", "ship/~3/label")).toBe("order-1//ship/~3/label");
    expect(childRunId("a".repeat(199), "b".repeat(199))).toBe(`${"a".repeat(199)}//${"b".repeat(199)}`);
  });

  test("a child's id above 400 characters is shortened to its beginning and a hash", () => {
    const id = childRunId("order-1", "x".repeat(392));
    expect(id).toBe(childRunId("order-1", "x".repeat(392)));
    expect(id).toBe(`order-1//${"x".repeat(191)}//~083fde1733b9b6a08b3502f1b5d621b7`);
    expect(childRunId("order-1", "x".repeat(393))).not.toBe(id);
  });

  test("ids of deeply nested children stay short and well-formed", () => {
    let id = "💥".repeat(120);
    const ids = new Set<string>();
    for (let depth = 0; depth < 100; depth++) {
      id = childRunId(id, "💥".repeat(depth + 1));
      expect(id.length).toBeLessThanOrEqual(400);
      expect(id).not.toMatch(/\p{Surrogate}/u);
      ids.add(id);
    }
    expect(ids.size).toBe(100);
  });

  test("a child's id is unique per parent and location and differs from every id that a caller may choose", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(parentId, location), { maxLength: 20 }), (pairs) => {
        const owners = new Map<string, string>();
        const claim = (parent: string, at: string): string => {
          const id = childRunId(parent, at);
          const owner = JSON.stringify([parent, at]);
          expect(owners.get(id) ?? owner).toBe(owner);
          expect(() => checkRunId(id)).toThrow();
          owners.set(id, owner);
          return id;
        };
        for (const [parent, at] of pairs) {
          const child = claim(parent, at);
          for (const [, below] of pairs) claim(child, below);
        }
      }),
    );
  });

  test("child ids differ even if the joined parts are the same text", () => {
    const pairs = [
      ["a", "b/c"],
      ["a/b", "c"],
      ["a/", "b"],
      ["a", "b"],
      ["a:b", "c"],
      ["a", "b:c"],
      ["a//b", "c"],
    ] as const;
    expect(new Set(pairs.map(([parent, at]) => childRunId(parent, at))).size).toBe(pairs.length);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextLocation, scopeAt } from "./location.ts";
import { checkName, checkRunId, childRunId } from "./names.ts";

const unfit: readonly (readonly [string, unknown])[] = [
  ["empty", ""],
  ["too long", "x".repeat(256)],
  ["NUL", "a\0b"],
  ["a line break", "a\n"],
  ["DEL", "a\x7f"],
  ["a C1 control", "a\x85"],
  ["the first half of a pair", "a\ud83d"],
  ["the second half of a pair", "\udca5b"],
  ["a number", 5],
  ["undefined", undefined],
  ["null", null],
  ["an array of a text", ["a"]],
  ["a String object", Object("a")],
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

  test.each(unfit)("a run id may not be %s", (_, id) => {
    expect(() => checkRunId(id)).toThrow(
      expect.objectContaining({ code: "ID_INVALID", message: expect.stringMatching(/^run id must be .*; got ./) }),
    );
  });

  test("a run id chosen by a caller must not contain `//`", () => {
    for (const id of ["a//b", "//", "///", "a//", "//a"]) {
      expect(() => checkRunId(id)).toThrow(/^run id must be .*without `\/\/`/);
    }
  });

  test("the error about a long run id contains only its beginning", () => {
    expect(() => checkRunId("a\nb")).toThrow('; got "a\\nb"');
    expect(() => checkRunId("y".repeat(10_000))).toThrow(/^.{1,250}$/);
  });
});

describe("checkName", () => {
  test.each([...fit, "a//b"])("a name may be %j", (name) => {
    expect(checkName(name, "step name")).toBe(name);
  });

  test.each(unfit)("a name may not be %s", (_, name) => {
    expect(() => checkName(name, "step name")).toThrow(
      expect.objectContaining({
        code: "NAME_INVALID",
        message: expect.stringMatching(/^step name must be text of 1 to 255 characters.*; got ./),
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

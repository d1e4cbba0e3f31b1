import { describe, expect, test } from "vitest";
import { flawsOfSchema, problemsIn } from "./json-schema.ts";

const paths = (schema: unknown, value: unknown): readonly string[] => problemsIn(schema, value).map(({ path }) => path);

describe("a schema", () => {
  const cases: ReadonlyArray<readonly [string, unknown, unknown, readonly string[]]> = [
    ["takes what fits", { type: "object", properties: { a: { type: "integer" } } }, { a: 1, b: 2 }, []],
    ["names what is missing", { required: ["a", "b"] }, { b: 1 }, ["/a"]],
    [
      "refuses members that it does not know",
      { properties: { a: true }, additionalProperties: false },
      { a: 1, b: 2 },
      ["/b"],
    ],
    ["checks other members", { additionalProperties: { type: "number" } }, { a: 1, b: "2" }, ["/b"]],
    ["checks items", { items: { type: "string", minLength: 1 }, maxItems: 2 }, ["a", "", 3], ["", "/1", "/2"]],
    ["knows several types", { type: ["null", "boolean"] }, 0, [""]],
    [
      "checks numbers",
      { properties: { a: { minimum: 1 }, b: { exclusiveMaximum: 1 }, c: { multipleOf: 0.1 } } },
      { a: 0, b: 1, c: 0.3 },
      ["/a", "/b"],
    ],
    [
      "checks text",
      { properties: { a: { pattern: "^x" }, b: { format: "date" } } },
      { a: "y", b: "2026-13-01" },
      ["/a", "/b"],
    ],
    ["checks a choice", { enum: ["a", "b"], not: { const: "b" } }, "b", [""]],
    ["combines", { allOf: [{ required: ["a"] }], anyOf: [{ required: ["b"] }, { required: ["c"] }] }, {}, ["/a", ""]],
    ["wants exactly one", { oneOf: [{ type: "number" }, { minimum: 0 }] }, 1, [""]],
    [
      "decides by a condition",
      JSON.parse(`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`),
      { a: 1 },
      ["/b"],
    ],
    [
      "follows its own definitions",
      { $defs: { n: { type: "number" } }, properties: { a: { $ref: "#/$defs/n" } } },
      { a: "x" },
      ["/a"],
    ],
    ["refers to nothing outside", { $ref: "http://elsewhere/x" }, 1, [""]],
    ["refuses duplicates", { uniqueItems: true }, [{ a: 1 }, { a: 1 }], [""]],
    ["looks at no prototype", { required: ["toString"] }, {}, ["/toString"]],
  ];
  test.each(cases)("%s", (_name, schema, value, expected) => {
    expect(flawsOfSchema(schema)).toEqual([]);
    expect(paths(schema, value)).toEqual(expected);
  });

  test("that refers to itself without end, and text that is too long for a pattern, are refused in bounded time", () => {
    expect(paths({ $ref: "#" }, 1)).toEqual([""]);
    expect(paths({ pattern: "^(a+)+$" }, `${"a".repeat(2_000)}b`)).toEqual([""]);
  });

  test("with what is not understood is refused, wherever it stands", () => {
    const schema = { properties: { a: { minlength: 1, format: "phone", pattern: "(" } }, anyOf: [3] };
    expect(flawsOfSchema(schema).map(({ path }) => path)).toEqual([
      "/properties/a/minlength",
      "/properties/a/format",
      "/properties/a/pattern",
      "/anyOf/0",
    ]);
  });
});

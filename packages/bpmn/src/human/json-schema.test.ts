import { describe, expect, test } from "vitest";
import { flawsOfSchema, problemsIn } from "./json-schema.ts";

const paths = (schema: unknown, value: unknown): readonly string[] => problemsIn(schema, value).map(({ path }) => path);

describe("JSON schemas", () => {
  const cases: ReadonlyArray<readonly [string, unknown, unknown, readonly string[]]> = [
    ["accepts a valid value", { type: "object", properties: { a: { type: "integer" } } }, { a: 1, b: 2 }, []],
    ["names missing properties", { required: ["a", "b"] }, { b: 1 }, ["/a"]],
    ["rejects unknown properties", { properties: { a: true }, additionalProperties: false }, { a: 1, b: 2 }, ["/b"]],
    ["checks additional properties", { additionalProperties: { type: "number" } }, { a: 1, b: "2" }, ["/b"]],
    ["checks items", { items: { type: "string", minLength: 1 }, maxItems: 2 }, ["a", "", 3], ["", "/1", "/2"]],
    ["accepts several types", { type: ["null", "boolean"] }, 0, [""]],
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
    ["checks enum and not", { enum: ["a", "b"], not: { const: "b" } }, "b", [""]],
    [
      "checks allOf and anyOf",
      { allOf: [{ required: ["a"] }], anyOf: [{ required: ["b"] }, { required: ["c"] }] },
      {},
      ["/a", ""],
    ],
    ["checks oneOf", { oneOf: [{ type: "number" }, { minimum: 0 }] }, 1, [""]],
    [
      "checks if, then and else",
      JSON.parse(`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`),
      { a: 1 },
      ["/b"],
    ],
    [
      "follows references to its own definitions",
      { $defs: { n: { type: "number" } }, properties: { a: { $ref: "#/$defs/n" } } },
      { a: "x" },
      ["/a"],
    ],
    ["does not follow references to other documents", { $ref: "http://elsewhere/x" }, 1, [""]],
    ["rejects duplicate items", { uniqueItems: true }, [{ a: 1 }, { a: 1 }], [""]],
    ["ignores inherited properties", { required: ["toString"] }, {}, ["/toString"]],
  ];
  test.each(cases)("a schema %s", (_name, schema, value, expected) => {
    expect(flawsOfSchema(schema)).toEqual([]);
    expect(paths(schema, value)).toEqual(expected);
  });

  test("endless schema references and texts too long for a pattern are rejected in bounded time", () => {
    expect(paths({ $ref: "#" }, 1)).toEqual([""]);
    expect(paths({ pattern: "^(a+)+$" }, `${"a".repeat(2_000)}b`)).toEqual([""]);
  });

  test("a schema with an unsupported keyword is rejected at any depth", () => {
    const schema = { properties: { a: { minlength: 1, format: "phone", pattern: "(" } }, anyOf: [3] };
    expect(flawsOfSchema(schema).map(({ path }) => path)).toEqual([
      "/properties/a/minlength",
      "/properties/a/format",
      "/properties/a/pattern",
      "/anyOf/0",
    ]);
  });
});

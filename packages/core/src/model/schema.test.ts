import { createContext, runInContext } from "node:vm";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { checkSchema, type InferIn, type InferOut, type SchemaIssue, type StandardSchema } from "./schema.ts";

const order = z.object({
  id: z.string(),
  items: z.array(z.object({ cents: z.coerce.number() })),
  note: z.string().default("-"),
});

/** A schema whose result no library returns. */
function schemaOf(validate: (value: unknown) => unknown): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: validate as StandardSchema["~standard"]["validate"] } };
}

function issues(...list: SchemaIssue[]): StandardSchema {
  return schemaOf(() => ({ issues: list }));
}

describe("checkSchema of a matching value", () => {
  test("a matching value is returned with the schema's transforms and defaults", () => {
    const value = checkSchema(order, { id: "o-1", items: [{ cents: "499" }], extra: 1 }, "input of workflow order");
    expect(value).toEqual({ id: "o-1", items: [{ cents: 499 }], note: "-" });
    expectTypeOf(value).toEqualTypeOf<{ id: string; items: { cents: number }[]; note: string }>();
  });

  test("a schema may accept undefined", () => {
    expect(checkSchema(z.undefined(), undefined, "input")).toBe(undefined);
    expect(checkSchema(z.string().optional(), undefined, "input")).toBe(undefined);
  });

  test("a schema may be a function", () => {
    const schema = Object.assign(
      () => 1,
      schemaOf((value) => ({ value })),
    );
    expect(checkSchema(schema, 5, "input")).toBe(5);
  });
});

describe("checkSchema of another value", () => {
  test("the error about a value lists each issue with its path", () => {
    expect(() => checkSchema(order, { items: [{ cents: 1 }, { cents: "x" }] }, "input of workflow order")).toThrow(
      expect.objectContaining({
        code: "SCHEMA_REFUSED",
        message: expect.stringMatching(
          /^input of workflow order does not match its schema: \$\.id: .+; \$\.items\[1\]\.cents: .+$/,
        ),
      }),
    );
  });

  test("the path of an issue may have keys, indexes, objects and symbols", () => {
    const path = ["a", 3, { key: "b c" }, Symbol("s")];
    expect(() => checkSchema(issues({ message: "no", path }, { message: "never" }), 1, "input")).toThrow(
      'input does not match its schema: $.a[3]["b c"]["Symbol(s)"]: no; $: never',
    );
  });

  test("an error with many issues lists ten of them", () => {
    const many = issues(...Array.from({ length: 25 }, (_, index) => ({ message: `m${index}` })));
    expect(() => checkSchema(many, 1, "input")).toThrow(/\$: m9; and 15 more$/);
  });

  test("a result with an empty list of issues rejects the value", () => {
    expect(() => checkSchema(issues(), 1, "input")).toThrow(expect.objectContaining({ code: "SCHEMA_REFUSED" }));
  });
});

describe("a schema", () => {
  test("an asynchronous schema is rejected, and its promise is ignored", async () => {
    const slow = z.string().refine(async () => true);
    for (const schema of [
      slow,
      schemaOf(() => Promise.reject(new Error("late"))),
      schemaOf(() => runInContext("new Promise(() => {})", createContext())),
    ]) {
      expect(() => checkSchema(schema, "x", "input")).toThrow(
        expect.objectContaining({
          code: "OPTION_INVALID",
          message: "input: the schema is asynchronous; pass a synchronous schema",
        }),
      );
    }
    await new Promise(setImmediate);
  });

  test("a schema that throws rejects the value with its reason", () => {
    const broken = schemaOf(() => {
      throw new TypeError("broken");
    });
    expect(() => checkSchema(broken, 1, "input")).toThrow(
      expect.objectContaining({ code: "SCHEMA_REFUSED", message: expect.stringContaining("TypeError: broken") }),
    );
  });

  test.each([null, undefined, {}, 5, "x", { "~standard": {} }])("a schema of %j is rejected", (schema) => {
    expect(() => checkSchema(schema as unknown as StandardSchema, 1, "input")).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  test.each([undefined, null, 5, {}])("a schema that returns %j is rejected", (answer) => {
    expect(() =>
      checkSchema(
        schemaOf(() => answer),
        1,
        "input",
      ),
    ).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  test("InferIn and InferOut are the types of a schema", () => {
    expectTypeOf<InferIn<typeof order>["note"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<InferOut<typeof order>["note"]>().toEqualTypeOf<string>();
    expectTypeOf<InferOut<StandardSchema<string, number>>>().toEqualTypeOf<number>();
  });
});

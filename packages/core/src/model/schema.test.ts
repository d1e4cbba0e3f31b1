import { createContext, runInContext } from "node:vm";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { checkSchema, type InferIn, type InferOut, type SchemaIssue, type StandardSchema } from "./schema.ts";

const order = z.object({
  id: z.string(),
  items: z.array(z.object({ cents: z.coerce.number() })),
  note: z.string().default("-"),
});

/** A schema written by hand, for answers that no library gives. */
function schemaOf(validate: (value: unknown) => unknown): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: validate as StandardSchema["~standard"]["validate"] } };
}

function issues(...list: SchemaIssue[]): StandardSchema {
  return schemaOf(() => ({ issues: list }));
}

describe("a value that fits", () => {
  test("comes back as the schema makes it", () => {
    const value = checkSchema(order, { id: "o-1", items: [{ cents: "499" }], extra: 1 }, "input of workflow order");
    expect(value).toEqual({ id: "o-1", items: [{ cents: 499 }], note: "-" });
    expectTypeOf(value).toEqualTypeOf<{ id: string; items: { cents: number }[]; note: string }>();
  });

  test("may be undefined", () => {
    expect(checkSchema(z.undefined(), undefined, "input")).toBe(undefined);
    expect(checkSchema(z.string().optional(), undefined, "input")).toBe(undefined);
  });

  test("may be checked by a schema that is a function", () => {
    const schema = Object.assign(
      () => 1,
      schemaOf((value) => ({ value })),
    );
    expect(checkSchema(schema, 5, "input")).toBe(5);
  });
});

describe("a value that does not fit", () => {
  test("is refused with each issue and its path", () => {
    expect(() => checkSchema(order, { items: [{ cents: 1 }, { cents: "x" }] }, "input of workflow order")).toThrow(
      expect.objectContaining({
        code: "SCHEMA_REFUSED",
        message: expect.stringMatching(
          /^input of workflow order does not fit its schema: \$\.id: .+; \$\.items\[1\]\.cents: .+$/,
        ),
      }),
    );
  });

  test("has its paths written in every form that schemas give", () => {
    const path = ["a", 3, { key: "b c" }, Symbol("s")];
    expect(() => checkSchema(issues({ message: "no", path }, { message: "never" }), 1, "input")).toThrow(
      'input does not fit its schema: $.a[3]["b c"]["Symbol(s)"]: no; $: never',
    );
  });

  test("an error with many issues lists ten of them", () => {
    const many = issues(...Array.from({ length: 25 }, (_, index) => ({ message: `m${index}` })));
    expect(() => checkSchema(many, 1, "input")).toThrow(/\$: m9; and 15 more$/);
  });

  test("is refused even if no issue is named", () => {
    expect(() => checkSchema(issues(), 1, "input")).toThrow(expect.objectContaining({ code: "SCHEMA_REFUSED" }));
  });
});

describe("a schema", () => {
  test("an asynchronous schema is rejected, and its late answer is ignored", async () => {
    const slow = z.string().refine(async () => true);
    for (const schema of [
      slow,
      schemaOf(() => Promise.reject(new Error("late"))),
      schemaOf(() => runInContext("new Promise(() => {})", createContext())),
    ]) {
      expect(() => checkSchema(schema, "x", "input")).toThrow(
        expect.objectContaining({
          code: "OPTION_INVALID",
          message: "input: its schema is asynchronous, and only synchronous ones are supported",
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

  test.each([undefined, null, 5, {}])("a schema that answers %j is rejected", (answer) => {
    expect(() =>
      checkSchema(
        schemaOf(() => answer),
        1,
        "input",
      ),
    ).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  test("tells its types", () => {
    expectTypeOf<InferIn<typeof order>["note"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<InferOut<typeof order>["note"]>().toEqualTypeOf<string>();
    expectTypeOf<InferOut<StandardSchema<string, number>>>().toEqualTypeOf<number>();
  });
});

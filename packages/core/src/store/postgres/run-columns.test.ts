import { describe, expect, it } from "vitest";
import { columnsOf } from "./run-columns.ts";

interface Row {
  readonly a: number;
  readonly b: string | undefined;
}

const GETTERS = { a: ({ a }: Row) => a, b: ({ b }: Row) => b };

describe("rows as columns", () => {
  it("a value that all rows share is written once", () => {
    const rows = [
      { a: 1, b: undefined },
      { a: 1, b: undefined },
      { a: 1, b: undefined },
    ] as const;
    expect(columnsOf<Row, "a" | "b">(rows, GETTERS)).toEqual({ same: { a: 1, b: undefined }, each: {} });
  });

  it("a column in which one row differs is a list", () => {
    const rows = [
      { a: 1, b: "x" },
      { a: 2, b: "x" },
      { a: 1, b: undefined },
    ] as const;
    expect(columnsOf<Row, "a" | "b">(rows, GETTERS)).toEqual({
      same: {},
      each: { a: [1, 2, 1], b: ["x", "x", undefined] },
    });
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { fromColumn, toColumn } from "./text-column.ts";

it("every text is read back unchanged, and the column contains no NUL and no lone surrogate", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), fc.string({ maxLength: 5 }), (units, plain) => {
      for (const text of [units, plain, units.slice(1), `${plain}\ufffe${units}`]) {
        const column = toColumn(text);
        expect(fromColumn(column)).toBe(text);
        expect(column.includes("\0")).toBe(false);
        expect(Buffer.from(column, "utf8").toString("utf8")).toBe(column);
      }
    }),
  );
});

it("plain text is written unchanged", () => {
  for (const text of ["", "order-1", 'line\n"quoted"\tπ😀']) expect(toColumn(text)).toBe(text);
});

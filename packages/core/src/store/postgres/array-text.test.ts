import { afterAll, describe, expect, it } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { fromColumnOrNull } from "../text-column.ts";
import { collapseSame, columnArray, numberArray, textArray } from "./array-text.ts";

const postgres = await freshPostgres();

const TEXTS = [
  "",
  "a",
  "NULL",
  "null",
  '"',
  "\\",
  '\\"',
  "a,b",
  "{}",
  " ",
  "\n\t\r",
  "é😀\ufffd",
  '{"a":"\\n\\""}',
  "'",
  "$1",
];

describe.runIf(postgres !== null)("lists as text", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("PostgreSQL reads array literals of texts and NULLs as written", async () => {
    const values = [...TEXTS, null, ...TEXTS.map((text) => text + text)];
    const [row] = await execute(fixture.pool, "SELECT $1::text[] AS list", [textArray(values)]);
    expect(row).toEqual({ list: values });
  });

  it("PostgreSQL reads encoded texts with any characters as columns store them", async () => {
    for (const odd of [[], ["\0"], ["\ud800"], ["\ufffe"], ["\u0007\u007f"], ["\n"]]) {
      const values = [...TEXTS.filter((text) => !/[\n\ud800-\udfff]/.test(text)), ...odd, null];
      const [row] = await execute(fixture.pool, "SELECT $1::text[] AS list", [columnArray(values)]);
      const { list } = row as { readonly list: readonly (string | null)[] };
      expect(list.map(fromColumnOrNull)).toEqual(values);
    }
  });

  it("a value shared by all rows is written once", () => {
    expect(collapseSame(["a", "a", "a"])).toEqual(["a"]);
    expect(collapseSame(["a", "a", "b"])).toEqual(["a", "a", "b"]);
    expect(collapseSame([])).toEqual([]);
  });

  it("PostgreSQL reads array literals of numbers as written", async () => {
    const values = [0, 1, -1, 1_794_806_526_510, Number.MAX_SAFE_INTEGER];
    const [row] = await execute(fixture.pool, "SELECT to_json($1::bigint[])::text AS list", [numberArray(values)]);
    expect(row).toEqual({ list: JSON.stringify(values) });
  });

  it("an empty list is an empty array", async () => {
    const arrays = [textArray([]), numberArray([])];
    const [row] = await execute(fixture.pool, "SELECT $1::text[] AS texts, $2::integer[] AS numbers", arrays);
    expect(row).toEqual({ texts: [], numbers: [] });
  });
});

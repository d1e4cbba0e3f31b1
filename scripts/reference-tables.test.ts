import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./sources.mjs";

/** The names in backticks in the first column of every table of a page. */
function rows(page: string): ReadonlySet<string> {
  const first = readFileSync(join(ROOT, page), "utf8").matchAll(/^\| ([^|]*) \|/gm);
  return new Set(
    [...first].flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`(]+)[^`]*`/g)].map(([, name = ""]) => name)),
  );
}

/** The names of the public members of an interface or class. */
function members(file: string, name: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const body = new RegExp(`export (?:interface|class) ${name}[ <][^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(text)?.[1] ?? "";
  const found = [...body.matchAll(/^ {2}(?:readonly |get |async )*(\w+)(?:\??:|[<(])/gm)].map(
    ([, member = ""]) => member,
  );
  return [...new Set(found)].filter((member) => member !== "constructor");
}

function missing(page: string, names: readonly string[]): readonly string[] {
  expect(names.length).toBeGreaterThan(2);
  const there = rows(page);
  return names.filter((each) => !there.has(each));
}

test("docs/operating.md has every option of createEngine", () => {
  const options = members("packages/core/src/engine/config.ts", "EngineOptions");
  expect(missing("docs/operating.md", options)).toEqual([]);
});

test("docs/operating.md has every event of an engine", () => {
  const text = readFileSync(join(ROOT, "packages/core/src/engine/events.ts"), "utf8");
  const union = /export type EngineEvent =([\s\S]*?);\n\nexport/.exec(text)?.[1] ?? "";
  const kinds = [...union.matchAll(/readonly kind:([^;}]*)/g)].flatMap(([, kind = ""]) =>
    [...kind.matchAll(/"([^"]+)"/g)].map(([, each = ""]) => each),
  );
  expect(missing("docs/operating.md", kinds)).toEqual([]);
});

test("docs/stores.md has every option of sqliteStore", () => {
  const options = members("packages/core/src/store/sqlite/index.ts", "SqliteStoreOptions");
  expect(missing("docs/stores.md", options)).toEqual([]);
});

test("docs/postgres.md has every option of postgresStore", () => {
  const options = members("packages/core/src/store/postgres/index.ts", "PostgresStoreOptions");
  expect(missing("docs/postgres.md", options)).toEqual([]);
});

test("docs/steps-and-retries.md has every option of retries", () => {
  expect(missing("docs/steps-and-retries.md", members("packages/core/src/model/retry.ts", "RetryOptions"))).toEqual([]);
});

test("docs/start.md has every member of ctx", () => {
  expect(missing("docs/start.md", members("packages/core/src/workflow/ctx.ts", "Ctx"))).toEqual([]);
});

test("docs/operating.md has every member of an engine", () => {
  const internal = ["open"];
  const all = members("packages/core/src/engine/engine.ts", "Engine").filter((member) => !internal.includes(member));
  expect(missing("docs/operating.md", all)).toEqual([]);
});

test("docs/operating.md names every member of a run's handle", () => {
  const page = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
  const sentence = /A handle has ([^.]*)\./.exec(page)?.[1] ?? "";
  const all = members("packages/core/src/engine/run-handle.ts", "RunHandle");
  expect(all.length).toBeGreaterThan(5);
  expect(all.filter((member) => !sentence.includes(`\`${member}\``))).toEqual([]);
});

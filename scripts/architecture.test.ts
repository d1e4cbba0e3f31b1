import { describe, expect, test } from "vitest";
import { architectureFindings, LAYERS } from "./architecture.mjs";
import { isCode, printed, readSources, repositoryPaths } from "./sources.mjs";

test("every import of this repository is allowed by the table of layers", () => {
  expect(architectureFindings(readSources(repositoryPaths().filter(isCode))).map(printed)).toEqual([]);
});

/** Checks a made-up repository: paths and their text. */
function findings(files: Readonly<Record<string, string>>): readonly string[] {
  return architectureFindings(Object.entries(files).map(([path, text]) => ({ path, text }))).map(printed);
}

const core = "packages/core/src";

/** Checks a core in which the file at `from` imports the file at `to`. */
function importing(from: string, to: string): readonly string[] {
  const up = "../".repeat(from.split("/").length - 1) || "./";
  return findings({ [`${core}/${from}`]: `import { x } from "${up}${to}";`, [`${core}/${to}`]: "export const x = 1;" });
}

describe("the table of layers", () => {
  test("the table of layers has these folders", () => {
    expect(Object.keys(LAYERS)).toEqual([
      "model",
      "runtime",
      "rules",
      "store",
      "coordinator",
      "workflow",
      "runner",
      "eslint",
      "worker",
      "operator",
      "engine",
      ".",
      "host",
      "testing",
    ]);
  });

  test.each([
    ["rules/decide.ts", "model/run.ts"],
    ["store/sqlite/store.ts", "store/store.ts"],
    ["store/memory.ts", "model/run.ts"],
    ["coordinator/queue.ts", "rules/decide.ts"],
    ["coordinator/queue.ts", "store/store.ts"],
    ["coordinator/queue.ts", "store/store-error.ts"],
    ["runner/session.ts", "workflow/ctx.ts"],
    ["engine/engine.ts", "coordinator/queue.ts"],
    ["engine/engine.ts", "store/memory.ts"],
    ["testing/engine.ts", "engine/engine.ts"],
    ["rules/decide.test.ts", "testing/engine.ts"],
  ])("%s may import %s", (from, to) => {
    expect(importing(from, to)).toEqual([]);
  });

  test.each([
    ["model/run.ts", "runtime/clock.ts"],
    ["runtime/clock.ts", "model/run.ts"],
    ["rules/decide.ts", "runtime/assert.ts"],
    ["rules/decide.ts", "store/store.ts"],
    ["store/sqlite/store.ts", "runtime/clock.ts"],
    ["coordinator/queue.ts", "store/memory.ts"],
    ["coordinator/queue.ts", "runner/session.ts"],
    ["runner/session.ts", "coordinator/queue.ts"],
    ["runner/session.ts", "store/sqlite/store.ts"],
    ["workflow/ctx.ts", "runner/session.ts"],
    ["runner/session.ts", "engine/engine.ts"],
    ["runner/session.ts", "worker/worker.ts"],
    ["worker/worker.ts", "engine/engine.ts"],
    ["worker/worker.ts", "operator/history.ts"],
    ["engine/engine.ts", "testing/engine.ts"],
    ["somewhere/else.ts", "model/run.ts"],
    ["rules/decide.ts", "model/run.test.ts"],
  ])("%s may not import %s", (from, to) => {
    expect(importing(from, to)).toHaveLength(1);
  });

  test("the check finds imports of types, dynamic imports and import types", () => {
    const texts = [
      `import type { X } from "../engine.ts";`,
      `const x = await import("../engine.ts");`,
      `type X = import("../engine.ts").X;`,
      `import "../engine.ts";`,
    ];
    for (const text of texts) {
      expect(findings({ [`${core}/rules/a.ts`]: text, [`${core}/engine.ts`]: "export type X = 1;" })).toEqual([
        `${core}/rules/a.ts:1 imports ../engine.ts: rules may import model`,
      ]);
    }
  });

  test("an import in a comment or a string is no finding", () => {
    expect(
      findings({ [`${core}/rules/a.ts`]: `// import "../engine.ts";\nconst x = 'import "../engine.ts"';` }),
    ).toEqual([]);
  });
});

describe("modules from outside the repository", () => {
  test.each([
    ["rules/a.ts", "node:fs"],
    ["model/a.ts", "zod"],
    ["engine.ts", "pawl"],
    ["engine.ts", "vitest"],
    ["runner/a.ts", "@photostructure/sqlite"],
  ])("%s of the core may not import the module %s", (path, name) => {
    expect(findings({ [`${core}/${path}`]: `import "${name}";` })).toHaveLength(1);
  });

  test("a store may import modules of Node and the SQLite driver", () => {
    const text = `import "node:fs"; import "@photostructure/sqlite";`;
    expect(findings({ [`${core}/store/sqlite/a.ts`]: text })).toEqual([]);
  });

  test("other packages may import only the entries of the core", () => {
    const text = `import "pawl"; import "pawl/sqlite"; import "pawl/testing"; import "node:fs"; import "zod";`;
    expect(findings({ "test/sim/src/a.ts": text })).toEqual([]);
    expect(findings({ "test/sim/src/a.ts": `import "pawl/dist/engine.js";` })).toHaveLength(1);
    const reached = { "bench/src/a.ts": `import "../../${core}/engine.ts";`, [`${core}/engine.ts`]: "" };
    expect(findings(reached)).toEqual([
      `bench/src/a.ts:1 imports ../../${core}/engine.ts: import another package by its name`,
    ]);
  });
});

describe("import cycles", () => {
  test("a cycle of two or three files is one finding", () => {
    const two = { "test/sim/src/a.ts": `import "./b.ts";`, "test/sim/src/b.ts": `import "./a.ts";` };
    expect(findings(two)).toEqual([
      "test/sim/src/b.ts:1 import cycle: test/sim/src/a.ts → test/sim/src/b.ts → test/sim/src/a.ts",
    ]);
    const three = {
      ...two,
      "test/sim/src/b.ts": `import "./c.ts";`,
      "test/sim/src/c.ts": `import type {} from "./a.ts";`,
    };
    expect(findings(three)).toHaveLength(1);
  });

  test("a file with two importers is no cycle", () => {
    const text = `import "./d.ts";`;
    const diamond = {
      "test/sim/src/a.ts": `import "./b.ts"; import "./c.ts";`,
      "test/sim/src/b.ts": text,
      "test/sim/src/c.ts": text,
    };
    expect(findings({ ...diamond, "test/sim/src/d.ts": "export {};" })).toEqual([]);
  });
});

describe("exports", () => {
  test("a default export is a finding, except in a configuration file", () => {
    expect(findings({ "test/sim/src/a.ts": "export default 1;" })).toHaveLength(1);
    expect(findings({ "test/sim/src/a.ts": "const a = 1; export { a as default };" })).toHaveLength(1);
    expect(findings({ "vitest.config.ts": "export default 1;" })).toEqual([]);
  });

  test.each([`export { x } from "./b.ts";`, `export * from "./b.ts";`, `import { x } from "./b.ts"; export { x };`])(
    "%s is allowed only in an entry",
    (text) => {
      const b = { "test/sim/src/b.ts": "export const x = 1;", [`${core}/b.ts`]: "export const x = 1;" };
      expect(findings({ "test/sim/src/index.ts": text, ...b })).toHaveLength(1);
      expect(findings({ [`${core}/index.ts`]: text, ...b })).toHaveLength(text.includes("*") ? 1 : 0);
    },
  );
});

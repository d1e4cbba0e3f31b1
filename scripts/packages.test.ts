import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./sources.mjs";

test.each(["packages/core", "packages/bpmn"])(
  "%s exports its package.json and has keywords for the registry",
  (path) => {
    const { exports, keywords } = JSON.parse(readFileSync(join(ROOT, path, "package.json"), "utf8")) as {
      readonly exports: Readonly<Record<string, unknown>>;
      readonly keywords?: readonly string[];
    };
    expect(exports["./package.json"]).toBe("./package.json");
    expect(keywords).toContain("durable execution");
  },
);

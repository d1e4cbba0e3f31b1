import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "pawl";
import { expect, test } from "vitest";
import { ERRORS_PAGE, errorsPage } from "./errors-page.mjs";
import { ROOT } from "./sources.mjs";

test("docs/errors.md is current; `npm run docs:errors` writes it", () => {
  expect(readFileSync(join(ROOT, ERRORS_PAGE), "utf8")).toBe(errorsPage(ERRORS));
});

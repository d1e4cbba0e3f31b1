import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../sources.mjs";
import { runTck } from "./dmn.mjs";

const data = join(ROOT, "../shared/conformance/dmn-tck");

// The data is no part of the repository; `npm run conformance` says so where it is absent.
test.skipIf(!existsSync(data))("every case of the DMN TCK that is at hand passes", () => {
  const failed = runTck(data).filter(({ flaw }) => flaw !== null);
  expect(failed).toEqual([]);
});

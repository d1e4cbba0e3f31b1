import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../sources.mjs";
import { runTck } from "./dmn.mjs";

const data = join(ROOT, "../shared/conformance/dmn-tck");

// The data is not part of the repository.
test.skipIf(!existsSync(data))("every case of the DMN TCK passes", () => {
  const failed = runTck(data).filter(({ flaw }) => flaw !== null);
  expect(failed).toEqual([]);
});

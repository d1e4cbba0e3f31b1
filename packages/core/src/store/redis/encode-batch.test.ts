import { expect, it } from "vitest";
import { newRun, record } from "../../testing/store-contract/builders.ts";
import { encodeBatch } from "./encode-batch.ts";

it("a history with more records than a call can have arguments is encoded", () => {
  const { seq: _, ...rest } = record(1);
  const records = Array.from({ length: 200_000 }, () => rest);
  const history = { records, inbox: [], undo: "none" } as const;
  const created = encodeBatch([{ kind: "create", run: newRun("r"), history }]);
  expect(created.args.length).toBeGreaterThan(200_000);
});

import { describe, expect, it } from "vitest";
import type { Transition } from "../../model/transition.ts";
import { applyTransition } from "../../rules/apply.ts";
import { Batch } from "../../rules/batch.ts";
import {
  append,
  create,
  document,
  message,
  post,
  record,
  records,
  suspended,
  T0,
} from "../../testing/store-contract/builders.ts";
import { appendValues } from "./commit-arguments.ts";
import { KnownRows } from "./known-rows.ts";
import { HeadCache } from "./row-cache.ts";
import { Stage } from "./stage.ts";

const stageOver = (cache: HeadCache): Stage => new Stage(new KnownRows(cache), "optimistic", new Map());

/** Returns the arguments of append_record for these transitions. Null if append_record cannot write them. */
function valuesOf(...transitions: readonly Transition[]): readonly unknown[] | null {
  const cache = new HeadCache(10, () => true);
  const before = stageOver(cache);
  for (const id of ["a", "b"]) applyTransition(new Batch(before, T0), create(id, { owner: "w" }));
  for (const run of before.staged.all()) cache.learn(run);
  const stage = stageOver(cache);
  const batch = new Batch(stage, T0);
  for (const transition of transitions) expect(applyTransition(batch, transition).kind).toBe("applied");
  return appendValues(stage, null);
}

describe("a commit of one record", () => {
  it("a commit of one record is written with its run's rev", () => {
    const values = valuesOf(append("a", { records: [record(1, { detail: "d\0" })] }));
    expect(values).toEqual([null, "a", 1, 1, "step#1", "step", "", 1, T0, T0, "d\ufffe0000", '"1"']);
  });

  it.each<[string, readonly Transition[]]>([
    ["a record and the row", [append("a", { records: [record(1)], state: suspended(), turn: 1 })]],
    ["the row", [append("a", { state: suspended(), turn: 1 })]],
    ["two records", [append("a", { records: records(1, 2) })]],
    ["records that go", [append("a", { records: [record(1)], trim: [{ from: 0, to: 0 }] })]],
    ["an entry that is taken", [append("a", { records: [record(1)], taken: [1] })]],
    ["a document", [append("a", { records: [record(1)], documents: [{ put: document("k", "d") }] })]],
    ["a post", [append("a", { records: [record(1)], posts: [message("b", "m")] })]],
    ["another run's record", [append("a", { records: [record(1)] }), append("b", { records: [record(1)] })]],
    ["another run's message", [append("a", { records: [record(1)] }), post(message("b", "m"))]],
    ["another run", [append("a", { records: [record(1)] }), create("c")]],
  ])("append_record is not used for %s", (_, transitions) => {
    expect(valuesOf(...transitions)).toBeNull();
  });
});

import { describe, expect, it } from "vitest";
import type { RunHead } from "../../rules/tables.ts";
import type { KnownRun } from "./known-rows.ts";
import { HeadCache } from "./row-cache.ts";

const HEAD = { status: "running", owner: "w" } as RunHead;

function known(id: string, over: Partial<RunHead> = {}): KnownRun {
  return { rev: 1, head: { ...HEAD, id, ...over }, wait: null, newest: 0, inbox: [], firm: true };
}

describe("the cache of runs", () => {
  it("the cache keeps a bounded number of runs, each in its latest state", () => {
    const cache = new HeadCache(2, () => true);
    const last = { ...known("b"), rev: 2 };
    for (const each of [known("a"), known("b"), last, known("c")]) cache.put(each);
    expect(["a", "b", "c"].map((id) => cache.get(id)?.rev)).toEqual([undefined, 2, 1]);
  });

  it("a run leaves the cache when it ends, has no owner, or belongs to another process", () => {
    const cache = new HeadCache(9, (owner) => owner === "w");
    for (const over of [{ status: "completed" }, { owner: null }, { owner: "v" }] as const) {
      cache.put(known("a"));
      cache.put(known("a", over));
      expect(cache.get("a")).toBeUndefined();
    }
  });
});

import { expect, it } from "vitest";
import { diff, type RecordView } from "../index.ts";

const record = (seq: number, location: string, over: Partial<RecordView> = {}): RecordView => ({
  seq,
  location,
  kind: "step",
  outcome: "ok",
  value: location,
  error: null,
  unreadable: null,
  attempts: 1,
  startedAt: seq,
  at: seq,
  detail: null,
  ...over,
});

it("diff ignores times, retries and operator records", () => {
  const a = [record(1, "a"), record(2, "b")];
  const b = [
    record(1, "~", { kind: "operator" }),
    record(2, "a", { at: 99, attempts: 3 }),
    record(3, "b", { kind: "retry", outcome: "failed" }),
    record(4, "b"),
  ];
  const same = { common: 2, parting: { a: null, b: null }, changed: [], onlyA: [], onlyB: [] };
  expect(diff(a, b)).toEqual(same);
  expect(diff([], [])).toEqual({ ...same, common: 0 });
});

it("diff returns the first difference, the changed records, and the records of only one journal", () => {
  const a = [record(1, "a"), record(2, "b", { value: 1 }), record(3, "c"), record(4, "e")];
  const failed = { outcome: "failed", value: undefined, error: new Error("no") } as const;
  const b = [record(1, "a"), record(2, "b", { value: 2 }), record(3, "d"), record(4, "e", failed)];
  const found = diff(a, b);
  expect(found).toMatchObject({ common: 1, parting: { a: { location: "b" }, b: { location: "b" } } });
  expect(found.changed.map(({ location }) => location)).toEqual(["b", "e"]);
  expect(found.onlyA.map(({ location }) => location)).toEqual(["c"]);
  expect(found.onlyB.map(({ location }) => location)).toEqual(["d"]);
});

it("diff compares values as data, and ignores ids of children", () => {
  const value = { when: new Date(5), tags: new Set(["x"]), big: 7n };
  const a = [record(1, "a", { value }), record(2, "kid", { kind: "spawn", value: "p//kid", detail: "p//kid" })];
  const b = [
    record(1, "a", { value: { when: new Date(5), tags: new Set(["x"]), big: 7n } }),
    record(2, "kid", { kind: "spawn", value: "q//kid", detail: "q//kid" }),
  ];
  expect(diff(a, b)).toMatchObject({ common: 2, changed: [] });
  expect(diff(a, [record(1, "a", { value: { ...value, big: 8n } })])).toMatchObject({ common: 0 });
});

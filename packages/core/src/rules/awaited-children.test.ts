import { expect, it } from "vitest";
import { record } from "../testing/store-contract/builders.ts";
import { awaitedChildren } from "./awaited-children.ts";

it("a child is awaited until its end is recorded, at its location or beside its start", () => {
  const spawn = (seq: number, location: string) => record(seq, { kind: "spawn", location, detail: `r//${location}` });
  const end = (seq: number, location: string) => record(seq, { kind: "child", location });
  const records = [
    ...[spawn(1, "a"), spawn(2, "call/start"), spawn(3, "b"), spawn(4, "open/start"), spawn(5, "start")],
    ...[end(6, "a/result"), end(7, "call/result"), end(8, "open/result#2"), end(9, "start/result")],
  ];
  expect(awaitedChildren(records).map(({ location }) => location)).toEqual(["b", "open/start"]);
});

import { expect, it } from "vitest";
import type { NewRun } from "../model/run.ts";
import { PendingStarts } from "./start-queue.ts";

const SLOT = { release: () => undefined };

function runOf(id: string): NewRun {
  return { id } as NewRun;
}

it("what a call creates begins from what is known here if there was no sign of the run since", () => {
  const expected = new PendingStarts();
  const call = expected.add(runOf("r"), SLOT);
  expect(expected.has("r")).toBe(true);
  expect([expected.end(call), expected.end(call), expected.has("r")]).toEqual([true, false, false]);
});

it("any sign of the run makes it be read", () => {
  const expected = new PendingStarts();
  const [first, second] = [expected.add(runOf("a"), SLOT), expected.add(runOf("b"), SLOT)];
  expected.drop("a");
  expect(expected.end(first)).toBe(false);
  expected.dropAll();
  expect(expected.end(second)).toBe(false);
});

it("a call counts for itself: one that comes later does not stand for one that there was a sign since", () => {
  const expected = new PendingStarts();
  const first = expected.add(runOf("r"), SLOT);
  expected.dropAll();
  const second = expected.add(runOf("r"), SLOT);
  expect([expected.end(first), expected.end(second)]).toEqual([false, true]);
});

it("that the worker holds what it has created, and what waits to begin, is no sign of it; that it was taken over is", () => {
  const expected = new PendingStarts();
  const call = expected.add(runOf("r"), SLOT);
  expect(expected.isWaiting("r", 1)).toBe(false);
  call.isCreated = true;
  expect([expected.isWaiting("r", 1), expected.isWaiting("r", 2)]).toEqual([true, false]);
  expected.drop("r");
  expect(expected.isWaiting("r", 1)).toBe(false);
});

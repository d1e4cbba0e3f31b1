import { expect, it } from "vitest";
import type { NewRun } from "../model/run.ts";
import { PendingStarts } from "./start-queue.ts";

const SLOT = { release: () => undefined };

function runOf(id: string): NewRun {
  return { id } as NewRun;
}

it("a created run starts without a load when nothing else about it was seen", () => {
  const pending = new PendingStarts();
  const call = pending.add(runOf("r"), SLOT);
  expect(pending.has("r")).toBe(true);
  expect([pending.end(call), pending.end(call), pending.has("r")]).toEqual([true, false, false]);
});

it("a created run is loaded when something else about it was seen", () => {
  const pending = new PendingStarts();
  const [first, second] = [pending.add(runOf("a"), SLOT), pending.add(runOf("b"), SLOT)];
  pending.drop("a");
  expect(pending.end(first)).toBe(false);
  pending.dropAll();
  expect(pending.end(second)).toBe(false);
});

it("a later start of the same id does not stand for an earlier one that was dropped", () => {
  const pending = new PendingStarts();
  const first = pending.add(runOf("r"), SLOT);
  pending.dropAll();
  const second = pending.add(runOf("r"), SLOT);
  expect([pending.end(first), pending.end(second)]).toEqual([false, true]);
});

it("a run that waits to start needs no load when the store lists it as owned in its first epoch", () => {
  const pending = new PendingStarts();
  const call = pending.add(runOf("r"), SLOT);
  expect(pending.isWaiting("r", 1)).toBe(false);
  call.isCreated = true;
  expect([pending.isWaiting("r", 1), pending.isWaiting("r", 2)]).toEqual([true, false]);
  pending.drop("r");
  expect(pending.isWaiting("r", 1)).toBe(false);
});

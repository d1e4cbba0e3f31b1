import { describe, expect, it } from "vitest";
import type { NewRun } from "../model/run.ts";
import { StartQueue } from "./start-queue.ts";

/** Runs that keep the store busy, as many as `busy` says, where two do. */
function setUp() {
  const told: string[] = [];
  const turnEnds: Array<() => void> = [];
  const store = { busy: 0 };
  const beginnings = new StartQueue({
    room: () => 2 - store.busy,
    eventLoop: { afterTurn: (callback) => void turnEnds.push(callback) },
    start: ({ run }) => told.push(run.id),
    onAllStarted: () => told.push("all"),
  });
  const add = (...ids: string[]): void => {
    for (const id of ids) {
      const slot = { release: () => told.push(`slot of ${id}`) };
      beginnings.add({ run: { id } as NewRun, isCreated: true, slot });
    }
  };
  const endTurn = (): void => {
    for (const callback of turnEnds.splice(0)) callback();
  };
  return { told, turnEnds, store, beginnings, add, endTurn };
}

describe("runs that were created here", () => {
  it("begin at once where there is room, and give back the slot that was kept for them", () => {
    const { told, add, beginnings } = setUp();
    add("a", "b");
    expect(told).toEqual(["a", "slot of a", "b", "slot of b"]);
    expect(beginnings.isEmpty).toBe(true);
  });

  it("begin at once only so many in a turn as there is room for", () => {
    const { told, store, add, endTurn } = setUp();
    add("a", "b", "c", "d");
    expect(told.filter((line) => line.length === 1)).toEqual(["a", "b"]);
    store.busy = 1;
    endTurn();
    expect(told.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
  });

  it("wait in order where the store is busy, one for each commit", () => {
    const { told, store, add, beginnings, endTurn } = setUp();
    store.busy = 2;
    add("a", "b");
    endTurn();
    expect(told).toEqual([]);
    beginnings.onCommitted();
    endTurn();
    endTurn();
    expect(told).toEqual(["a", "slot of a"]);
    beginnings.onCommitted();
    beginnings.onCommitted();
    endTurn();
    endTurn();
    expect(told).toEqual(["a", "slot of a", "b", "slot of b", "all"]);
  });

  it("don't overtake those that wait", () => {
    const { told, store, add } = setUp();
    store.busy = 2;
    add("a");
    store.busy = 0;
    add("b");
    expect(told).toEqual([]);
  });

  it("begin turn after turn while those that have begun have nothing to commit", () => {
    const { told, store, turnEnds, add, endTurn } = setUp();
    store.busy = 3;
    add("a", "b", "c", "d", "e");
    store.busy = 0;
    endTurn();
    expect(told.filter((line) => line.length === 1)).toEqual(["a", "b"]);
    store.busy = 1;
    endTurn();
    expect(told.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
    store.busy = 2;
    endTurn();
    expect(told.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
    expect(turnEnds).toEqual([]);
  });
});

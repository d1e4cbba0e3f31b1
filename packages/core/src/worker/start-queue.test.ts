import { describe, expect, it } from "vitest";
import type { NewRun } from "../model/run.ts";
import { StartQueue } from "./start-queue.ts";

/** A start queue whose store is busy with two runs; `busy` of them are active. */
function setUp() {
  const calls: string[] = [];
  const turnEnds: Array<() => void> = [];
  const store = { busy: 0 };
  const queue = new StartQueue({
    room: () => 2 - store.busy,
    eventLoop: { afterTurn: (callback) => void turnEnds.push(callback) },
    start: ({ run }) => calls.push(run.id),
    onAllStarted: () => calls.push("all"),
  });
  const add = (...ids: string[]): void => {
    for (const id of ids) {
      const slot = { release: () => calls.push(`slot of ${id}`) };
      queue.add({ run: { id } as NewRun, isCreated: true, slot });
    }
  };
  const endTurn = (): void => {
    for (const callback of turnEnds.splice(0)) callback();
  };
  return { calls, turnEnds, store, queue, add, endTurn };
}

describe("the start queue", () => {
  it("a created run starts at once when there is room, and releases its slot", () => {
    const { calls, add, queue } = setUp();
    add("a", "b");
    expect(calls).toEqual(["a", "slot of a", "b", "slot of b"]);
    expect(queue.isEmpty).toBe(true);
  });

  it("created runs start in one turn only while there is room", () => {
    const { calls, store, add, endTurn } = setUp();
    add("a", "b", "c", "d");
    expect(calls.filter((line) => line.length === 1)).toEqual(["a", "b"]);
    store.busy = 1;
    endTurn();
    expect(calls.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
  });

  it("created runs wait in FIFO order when the store is busy, and one starts per commit", () => {
    const { calls, store, add, queue, endTurn } = setUp();
    store.busy = 2;
    add("a", "b");
    endTurn();
    expect(calls).toEqual([]);
    queue.onCommitted();
    endTurn();
    endTurn();
    expect(calls).toEqual(["a", "slot of a"]);
    queue.onCommitted();
    queue.onCommitted();
    endTurn();
    endTurn();
    expect(calls).toEqual(["a", "slot of a", "b", "slot of b", "all"]);
  });

  it("a created run does not overtake waiting ones", () => {
    const { calls, store, add } = setUp();
    store.busy = 2;
    add("a");
    store.busy = 0;
    add("b");
    expect(calls).toEqual([]);
  });

  it("waiting runs start turn by turn while the started ones have nothing to commit", () => {
    const { calls, store, turnEnds, add, endTurn } = setUp();
    store.busy = 3;
    add("a", "b", "c", "d", "e");
    store.busy = 0;
    endTurn();
    expect(calls.filter((line) => line.length === 1)).toEqual(["a", "b"]);
    store.busy = 1;
    endTurn();
    expect(calls.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
    store.busy = 2;
    endTurn();
    expect(calls.filter((line) => line.length === 1)).toEqual(["a", "b", "c"]);
    expect(turnEnds).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-world.ts";
import { dueTimersFirst, type EventLoop } from "./event-loop.ts";
import { TimerQueue } from "./timer-queue.ts";

/** Turns that end when they are told to. */
function manualTurns(): EventLoop & { end(): void } {
  let asked: Array<() => void> = [];
  return {
    whenIdle: (callback) => callback(),
    afterTurn: (callback) => asked.push(callback),
    end() {
      const callbacks = asked;
      asked = [];
      for (const callback of callbacks) callback();
    },
  };
}

describe("the end of a turn, where deadlines go first", () => {
  it("comes as ever when nothing is due", () => {
    const called: string[] = [];
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const eventLoop = manualTurns();
    timers.wakeAt(10, () => called.push("deadline"));
    dueTimersFirst(eventLoop, timers).afterTurn(() => called.push("end"));
    eventLoop.end();
    expect(called).toEqual(["end"]);
  });

  it("is put off by a turn when something is due, and no further", () => {
    const called: string[] = [];
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const eventLoop = manualTurns();
    for (const at of [10, 20]) timers.wakeAt(at, () => called.push(`deadline ${at}`));
    dueTimersFirst(eventLoop, timers).afterTurn(() => called.push("end"));
    clock.set(10);
    eventLoop.end();
    expect(called).toEqual(["deadline 10"]);
    clock.set(20);
    eventLoop.end();
    expect(called).toEqual(["deadline 10", "end"]);
    clock.fire();
    expect(called).toEqual(["deadline 10", "end", "deadline 20"]);
  });

  it("brings nothing of an timers that was cleared", () => {
    const called: string[] = [];
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const eventLoop = manualTurns();
    timers.wakeAt(10, () => called.push("deadline"));
    timers.clear();
    dueTimersFirst(eventLoop, timers).afterTurn(() => called.push("end"));
    clock.set(10);
    eventLoop.end();
    expect(called).toEqual(["end"]);
  });
});

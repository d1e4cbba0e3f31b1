import { describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-world.ts";
import { dueTimersFirst, type EventLoop } from "./event-loop.ts";
import { TimerQueue } from "./timer-queue.ts";

/** An event loop whose turn ends when the test calls `end`. */
function manualTurns(): EventLoop & { end(): void } {
  let waiting: Array<() => void> = [];
  return {
    whenIdle: (callback) => callback(),
    afterTurn: (callback) => waiting.push(callback),
    end() {
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback();
    },
  };
}

describe("dueTimersFirst", () => {
  it("a turn ends without delay when no timer is due", () => {
    const called: string[] = [];
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const eventLoop = manualTurns();
    timers.wakeAt(10, () => called.push("deadline"));
    dueTimersFirst(eventLoop, timers).afterTurn(() => called.push("end"));
    eventLoop.end();
    expect(called).toEqual(["end"]);
  });

  it("the end of a turn is delayed by one turn when a timer is due", () => {
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

  it("the end of a turn calls no timer of a cleared queue", () => {
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

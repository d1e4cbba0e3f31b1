import { describe, expect, it } from "vitest";
import { virtualClock } from "../testing/virtual-world.ts";
import { EventLoopDelay } from "./event-loop-delay.ts";

describe("EventLoopDelay", () => {
  it("the delay is how much later than requested the timer was called", () => {
    const clock = virtualClock();
    const delay = new EventLoopDelay(clock);
    expect(delay.timerCalled()).toBe(0);
    delay.timerSet(1_000);
    clock.set(clock.now() + 900);
    expect(delay.timerCalled()).toBe(0);
    clock.set(clock.now() + 3_100);
    expect(delay.timerCalled()).toBe(3_000);
    delay.timerSet(1_000);
    clock.set(clock.now() + 1_000);
    expect(delay.timerCalled()).toBe(0);
  });

  it("an adjustment of the system clock is no delay if there is a monotonic clock", () => {
    const clock = virtualClock();
    let ticks = 0;
    const delay = new EventLoopDelay({
      now: () => clock.now(),
      wakeAt: (at, callback) => clock.wakeAt(at, callback),
      ticks: () => ticks,
    });
    delay.timerSet(1_000);
    ticks += 1_000;
    clock.set(clock.now() + 3_600_000);
    expect(delay.timerCalled()).toBe(0);
  });
});

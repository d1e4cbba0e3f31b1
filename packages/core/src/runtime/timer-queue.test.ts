import { describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-world.ts";
import type { Clock } from "./clock.ts";
import { TimerQueue } from "./timer-queue.ts";

/** Counts the armed timers. */
function counted(clock: VirtualClock): { readonly clock: Clock; armed: number; most: number } {
  const state = {
    armed: 0,
    most: 0,
    clock: {
      now: () => clock.now(),
      wakeAt(at: number, callback: () => void) {
        state.armed += 1;
        state.most = Math.max(state.most, state.armed);
        let open = true;
        const end = (): void => {
          if (open) state.armed -= 1;
          open = false;
        };
        const cancel = clock.wakeAt(at, () => {
          end();
          callback();
        });
        return () => {
          end();
          cancel();
        };
      },
    },
  };
  return state;
}

function runTo(clock: VirtualClock, at: number): void {
  for (let next = clock.nextAt; next !== null && next <= at; next = clock.nextAt) {
    clock.set(Math.max(next, clock.now()));
    clock.fire();
  }
  clock.set(at);
}

describe("a timer queue", () => {
  it("timers are called in order of time, with one timer of the clock armed", () => {
    const clock = new VirtualClock(0);
    const count = counted(clock);
    const timers = new TimerQueue(count.clock, 1);
    const called: string[] = [];
    for (const at of [500, 100, 300, 100, 200]) timers.wakeAt(at, () => called.push(`${at}@${clock.now()}`));
    runTo(clock, 1_000);
    expect(called).toEqual(["100@100", "100@100", "200@200", "300@300", "500@500"]);
    expect(count.most).toBe(1);
    expect(count.armed).toBe(0);
  });

  it("a timer is never called early, and at most the resolution late", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 50);
    const called: number[] = [];
    for (const at of [1, 49, 50, 51, 100]) timers.wakeAt(at, () => called.push(clock.now() - at));
    runTo(clock, 200);
    expect(called.every((late) => late >= 0 && late < 50)).toBe(true);
    expect(called).toHaveLength(5);
  });

  it("a cancelled timer is not called", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: string[] = [];
    const first = timers.wakeAt(10, () => called.push("first"));
    const other = timers.wakeAt(20, () => called.push("other"));
    timers.wakeAt(20, () => other());
    timers.wakeAt(30, () => called.push("last"));
    first();
    first();
    runTo(clock, 100);
    expect(called).toEqual(["other", "last"]);
  });

  it("all timers of one time are called once, except cancelled ones", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: number[] = [];
    const cancels = Array.from({ length: 500 }, (_, n) => timers.wakeAt(10, () => called.push(n)));
    for (const [n, cancel] of cancels.entries()) if (n % 3 === 0) cancel();
    runTo(clock, 10);
    called.sort((a, b) => a - b);
    expect(called).toEqual(Array.from({ length: 500 }, (_, n) => n).filter((n) => n % 3 !== 0));
  });

  it("a timer is called when all other timers of its time were cancelled or called before", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: string[] = [];
    timers.wakeAt(5, () => called.push("early"));
    for (const cancel of [1, 2, 3].map(() => timers.wakeAt(10, () => called.push("cancelled")))) cancel();
    runTo(clock, 7);
    timers.wakeAt(10, () => {
      called.push("first");
      timers.wakeAt(10, () => called.push("second"));
    });
    runTo(clock, 10);
    timers.wakeAt(10, () => called.push("third"));
    runTo(clock, 10);
    expect(called).toEqual(["early", "first", "second", "third"]);
  });

  it("a timer can be set by the callback of another", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: number[] = [];
    const again = (): void => {
      called.push(clock.now());
      if (called.length < 4) timers.wakeAt(clock.now() + 10, again);
    };
    timers.wakeAt(10, again);
    timers.wakeAt(5, () => timers.wakeAt(7, () => called.push(7)));
    runTo(clock, 100);
    expect(called).toEqual([7, 10, 20, 30]);
  });

  it("timers that are due after a jump of the clock are called in order", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: number[] = [];
    for (const at of [30, 10, 20]) timers.wakeAt(at, () => called.push(at));
    clock.set(1_000);
    runTo(clock, 1_000);
    expect(called).toEqual([10, 20, 30]);
  });

  it("a callback that throws does not prevent other timers from being called", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: string[] = [];
    timers.wakeAt(10, () => called.push("first"));
    timers.wakeAt(10, () => {
      throw new Error("thrown");
    });
    timers.wakeAt(10, () => called.push("third"))();
    timers.wakeAt(10, () => called.push("last"));
    expect(() => runTo(clock, 10)).toThrow("thrown");
    runTo(clock, 20);
    expect(called).toEqual(["first", "last"]);
  });

  it("no timer is called after clear", () => {
    const clock = new VirtualClock(0);
    const timers = new TimerQueue(clock, 1);
    const called: number[] = [];
    timers.wakeAt(10, () => {
      called.push(10);
      timers.clear();
    });
    timers.wakeAt(20, () => called.push(20));
    runTo(clock, 15);
    timers.wakeAt(30, () => called.push(30));
    runTo(clock, 100);
    expect(called).toEqual([10]);
  });
});

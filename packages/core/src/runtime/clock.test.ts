import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";

const DAY_MS = 86_400_000;
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

describe("the system clock", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_704_067_200_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["0 ms", 0],
    ["1 ms", 1],
    ["one hour", DAY_MS / 24],
    ["25 days, where setTimeout fires at once", 25 * DAY_MS],
    ["49.7 days, where 32 bits end", Math.ceil(49.72 * DAY_MS)],
    ["10 years", 3_650 * DAY_MS],
  ])("a wake-up is called once, at its time and not before: %s", (_, ms) => {
    const delays: number[] = [];
    const real = globalThis.setTimeout;
    const spied = vi.spyOn(globalThis, "setTimeout").mockImplementation(((callback: () => void, delay: number) => {
      delays.push(delay);
      return real(callback, delay);
    }) as typeof setTimeout);
    const clock = systemClock();
    const woken: number[] = [];
    clock.wakeAt(clock.now() + ms, () => woken.push(clock.now()));
    const due = clock.now() + ms;
    if (ms > 0) {
      vi.advanceTimersByTime(ms - 1);
      expect(woken).toEqual([]);
    }
    vi.advanceTimersByTime(1);
    vi.advanceTimersByTime(30 * DAY_MS);
    expect(woken).toHaveLength(1);
    expect(woken[0]).toBeGreaterThanOrEqual(due);
    expect(woken[0]).toBeLessThanOrEqual(due + 1);
    expect(Math.max(...delays)).toBeLessThanOrEqual(TIMEOUT_MS_MAX);
    // No further timeout is set after the last one: even a delay of 0 ms would be late by 1 ms.
    expect(delays).toHaveLength(Math.max(1, Math.ceil(ms / 2 ** 30)));
    spied.mockRestore();
  });

  it("a wake-up for a past time is called as soon as possible", () => {
    const clock = systemClock();
    let woken = 0;
    clock.wakeAt(clock.now() - DAY_MS, () => {
      woken += 1;
    });
    expect(woken).toBe(0);
    vi.advanceTimersByTime(1);
    expect(woken).toBe(1);
  });

  it("a cancelled wake-up is not called, even if it is cancelled between two timeouts", () => {
    const clock = systemClock();
    let woken = 0;
    const soon = clock.wakeAt(clock.now() + 10, () => {
      woken += 1;
    });
    const late = clock.wakeAt(clock.now() + 40 * DAY_MS, () => {
      woken += 1;
    });
    soon();
    vi.advanceTimersByTime(30 * DAY_MS);
    late();
    vi.advanceTimersByTime(30 * DAY_MS);
    expect(woken).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a wake-up waits longer when the clock is set back, and is called after the clock is set forward", () => {
    const clock = systemClock();
    const woken: number[] = [];
    const at = clock.now() + 60_000;
    clock.wakeAt(at, () => woken.push(clock.now()));
    vi.setSystemTime(clock.now() - 3_600_000);
    vi.advanceTimersByTime(60_000);
    expect(woken).toEqual([]);
    vi.setSystemTime(at + DAY_MS);
    vi.advanceTimersByTime(3_600_001);
    expect(woken).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { TimerQueue } from "../runtime/timer-queue.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Store } from "../store/store.ts";
import { virtualWorld } from "../testing/virtual-world.ts";
import { StoreClock } from "./store-clock.ts";

/** A store with a remote clock that the test sets, and a monotonic clock. */
async function open() {
  const world = virtualWorld({ now: 1_000 });
  const memory = memoryStore();
  await memory.open({ now: world.now, every: () => () => {} });
  const answers: ((present: number) => void)[] = [];
  const store: Store = Object.assign(Object.create(memory) as Store, {
    exactClock: false,
    now: () => world.now(),
    readClock: () => new Promise<number>((resolve) => answers.push(resolve)),
  });
  const clock: { ticks: number | null } = { ticks: 0 };
  const time = new StoreClock(store, new TimerQueue(world.clock, 1), () => clock.ticks);
  const called: number[] = [];
  const sleep = (at: number): (() => void) => time.wakeAt(at, () => called.push(at));
  /** The number of clock queries. */
  const queries = (): number => answers.length;
  const answer = async (present: number): Promise<void> => {
    answers.at(-1)?.(present);
    await world.settle();
  };
  return { world, time, clock, called, sleep, queries, answer };
}

describe("the store clock", () => {
  it("waiters of one deadline share one clock query and are called when it is answered", async () => {
    const { world, called, sleep, queries, answer } = await open();
    sleep(1_010);
    sleep(1_010);
    await world.advance("10 ms");
    expect(queries()).toBe(1);
    expect(called).toEqual([]);
    await answer(1_010);
    expect(called).toEqual([1_010, 1_010]);
  });

  it("a deadline that passes during a query is served by the same reply", async () => {
    const { world, called, sleep, queries, answer } = await open();
    sleep(1_010);
    sleep(1_011);
    sleep(1_013);
    await world.advance("13 ms");
    expect(queries()).toBe(1);
    await answer(1_012);
    expect(called).toEqual([1_010, 1_011]);
    expect(queries()).toBe(2);
    await answer(1_013);
    expect(called).toEqual([1_010, 1_011, 1_013]);
  });

  it("the reported time is extrapolated with the monotonic clock for a moment", async () => {
    const { world, time, clock, called, sleep, queries, answer } = await open();
    sleep(1_010);
    await world.advance("10 ms");
    await answer(1_010);
    clock.ticks = 10;
    expect(time.hasPassed(1_019)).toBe(true);
    expect(time.hasPassed(1_020)).toBe(false);
    sleep(1_019);
    await world.advance("9 ms");
    expect(called).toEqual([1_010, 1_019]);
    expect(queries()).toBe(1);
    clock.ticks = 1_000;
    expect(time.hasPassed(1_019)).toBe(true);
    expect(time.hasPassed(1_020)).toBe(false);
  });

  it("the reported time is not extrapolated without a monotonic clock", async () => {
    const { world, time, clock, sleep, answer } = await open();
    clock.ticks = null;
    sleep(1_010);
    await world.advance("10 ms");
    await answer(1_010);
    await world.leap(10);
    expect(time.hasPassed(1_010)).toBe(true);
    expect(time.hasPassed(1_011)).toBe(false);
  });

  it("a cancelled waiter is not called back", async () => {
    const { world, called, sleep, answer } = await open();
    const cancel = sleep(1_010);
    await world.advance("10 ms");
    cancel();
    await answer(1_010);
    expect(called).toEqual([]);
  });
});

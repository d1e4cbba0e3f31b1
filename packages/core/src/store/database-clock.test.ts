import fc from "fast-check";
import { expect, it } from "vitest";
import { DatabaseClock } from "./database-clock.ts";

/** Exact times of both clocks, whose milliseconds start at different moments. */
const beginnings = fc.record({
  here: fc.double({ min: 0, max: 10_000, noNaN: true }),
  there: fc.double({ min: 0, max: 10_000, noNaN: true }),
});

/** Pauses between replies, and the time that each reply takes. */
const answers = fc.array(
  fc.tuple(fc.double({ min: 0, max: 5, noNaN: true }), fc.double({ min: 0, max: 3, noNaN: true })),
  {
    minLength: 1,
    maxLength: 50,
  },
);

it("the database clock is ahead by less than 1 ms, and behind by less than 2 ms plus the reply time", () => {
  fc.assert(
    fc.property(beginnings, answers, (begin, gaps) => {
      let passed = 0;
      const clock = new DatabaseClock(() => Math.floor(begin.here + passed));
      const ways: number[] = [];
      for (const [gapMs, wayMs] of gaps) {
        passed += gapMs + wayMs;
        clock.onServerTime(Math.floor(begin.there + passed - wayMs));
        ways.push(wayMs);
        passed += gapMs;
        const ahead = clock.now() - (begin.there + passed);
        expect(ahead).toBeLessThan(1);
        expect(ahead).toBeGreaterThan(-2 - Math.min(...ways.slice(-32)));
      }
    }),
  );
});

it("the database clock follows a jump of the local clock after as many replies as it keeps", () => {
  let here = 0;
  const clock = new DatabaseClock(() => here);
  clock.onServerTime(1_000);
  here = 50_000;
  for (let answer = 0; answer < 32; answer += 1) clock.onServerTime(1_000);
  expect(clock.now()).toBe(1_000);
});

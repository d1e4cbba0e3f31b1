import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DURATION_MS_MAX } from "./duration.ts";
import { ATTEMPTS_MAX, DEFAULT_RETRY, type RetryOptions, resolveRetry, retryDelayMs } from "./retry.ts";

describe("retry options", () => {
  test("omitted retry options have their defaults", () => {
    expect(resolveRetry(undefined, DEFAULT_RETRY)).toBe(DEFAULT_RETRY);
    expect(resolveRetry({}, DEFAULT_RETRY)).toEqual(DEFAULT_RETRY);
    expect(DEFAULT_RETRY).toEqual({
      maxAttempts: 3,
      initialMs: 1_000,
      factor: 2,
      maxMs: 300_000,
      jitter: 0.1,
      shouldRetry: null,
      delay: null,
    });
  });

  test("retry: false allows one attempt", () => {
    expect(resolveRetry(false, DEFAULT_RETRY).maxAttempts).toBe(1);
  });

  test("each retry option is resolved separately, with durations in any form", () => {
    const shouldRetry = (): boolean => false;
    expect(resolveRetry({ maxAttempts: 10, initialMs: "2s", maxMs: "PT1M", shouldRetry }, DEFAULT_RETRY)).toEqual({
      maxAttempts: 10,
      initialMs: 2_000,
      factor: 2,
      maxMs: 60_000,
      jitter: 0.1,
      shouldRetry,
      delay: null,
    });
  });

  test("omitted retry options have the engine's values, including shouldRetry", () => {
    const fallback = resolveRetry({ maxAttempts: 7, shouldRetry: () => true }, DEFAULT_RETRY);
    expect(resolveRetry({ jitter: 0 }, fallback)).toEqual({ ...fallback, jitter: 0 });
  });

  test("initialMs never exceeds maxMs after defaults are applied", () => {
    expect(resolveRetry({ initialMs: "10m" }, DEFAULT_RETRY)).toMatchObject({ initialMs: 600_000, maxMs: 600_000 });
    expect(resolveRetry({ maxMs: 100 }, DEFAULT_RETRY)).toMatchObject({ initialMs: 100, maxMs: 100 });
  });

  test.each<[unknown, string]>([
    [{ maxAttempts: 0 }, "retry.maxAttempts must be an integer from 1 to 1000000; got 0"],
    [{ maxAttempts: 1.5 }, "retry.maxAttempts"],
    [{ maxAttempts: Number.NaN }, "retry.maxAttempts"],
    [{ maxAttempts: Number.POSITIVE_INFINITY }, "retry.maxAttempts"],
    [{ maxAttempts: "3" }, "retry.maxAttempts"],
    [{ maxAttempts: null }, "retry.maxAttempts"],
    [{ factor: 0.5 }, "retry.factor"],
    [{ factor: Number.NaN }, "retry.factor"],
    [{ factor: Number.POSITIVE_INFINITY }, "retry.factor"],
    [{ jitter: -0.1 }, "retry.jitter"],
    [{ jitter: 2 }, "retry.jitter"],
    [{ shouldRetry: true }, "retry.shouldRetry"],
    [{ delay: 5 }, "retry.delay"],
    [{ initialMs: 10, maxMs: 5 }, "retry.maxMs must be at least retry.initialMs, 10; got 5"],
    [
      { attempts: 3 },
      'unknown option "attempts" of retry; use maxAttempts, initialMs, factor, maxMs, jitter, shouldRetry, delay',
    ],
    [true, "retry must be false or an object; got true"],
    [null, "retry must be false or an object; got null"],
    [3, "retry must be false or an object; got 3"],
  ])("retry options %j are rejected", (options, message) => {
    expect(() => resolveRetry(options as RetryOptions, DEFAULT_RETRY)).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining(message) }),
    );
  });

  test("a retry delay that is not a duration is rejected as an invalid duration", () => {
    for (const options of [{ initialMs: -1 }, { maxMs: "soon" }, { maxMs: Number.NaN }]) {
      expect(() => resolveRetry(options, DEFAULT_RETRY)).toThrow(expect.objectContaining({ code: "DURATION_INVALID" }));
    }
  });
});

describe("retryDelayMs", () => {
  test("the retry delay doubles up to maxMs", () => {
    const policy = { ...DEFAULT_RETRY, jitter: 0 };
    const waits = [1, 2, 3, 4, 9, 10, 100].map((attempt) => retryDelayMs(policy, attempt, 0.5));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 256_000, 300_000, 300_000]);
  });

  test("the retry delay grows by growthMs each time if the policy has it", () => {
    const policy = { ...DEFAULT_RETRY, factor: 1, growthMs: 1_000, maxMs: 3_500, jitter: 0 };
    expect([1, 2, 3, 4, 100].map((attempt) => retryDelayMs(policy, attempt, 0.5))).toEqual([
      1_000, 2_000, 3_000, 3_500, 3_500,
    ]);
  });

  test("jitter changes the retry delay by at most its fraction", () => {
    expect(retryDelayMs(DEFAULT_RETRY, 1, 0)).toBe(900);
    expect(retryDelayMs(DEFAULT_RETRY, 1, 0.5)).toBe(1_000);
    expect(retryDelayMs(DEFAULT_RETRY, 1, 1 - 2 ** -53)).toBe(1_100);
  });

  const policy = fc
    .record({
      initialMs: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: DURATION_MS_MAX })),
      maxMs: fc.integer({ min: 0, max: DURATION_MS_MAX }),
      factor: fc.double({ min: 1, max: 1_000, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map((drawn) => ({ ...drawn, maxAttempts: 3, initialMs: Math.min(drawn.initialMs, drawn.maxMs) }));
  const attempt = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: ATTEMPTS_MAX }));

  test("the retry delay is an integer number of ms within its bounds", () => {
    fc.assert(
      fc.property(
        policy,
        attempt,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (each, n, random01) => {
          const delayMs = retryDelayMs(each, n, random01);
          expect(Number.isInteger(delayMs) && !Object.is(delayMs, -0)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(each.maxMs * (1 + each.jitter));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("the retry delay never shrinks without jitter", () => {
    fc.assert(
      fc.property(policy, attempt, attempt, (each, one, other) => {
        const steady = { ...each, jitter: 0 };
        const [less, more] = one < other ? [one, other] : [other, one];
        expect(retryDelayMs(steady, less, 0.3)).toBeLessThanOrEqual(retryDelayMs(steady, more, 0.9));
      }),
      { numRuns: 2_000 },
    );
  });

  test("the retry delay never shrinks or overflows in a million attempts", () => {
    let last = 0;
    for (let n = 1; n <= ATTEMPTS_MAX; n++) {
      const delayMs = retryDelayMs({ ...DEFAULT_RETRY, factor: 1.01, jitter: 0 }, n, 0);
      if (!(delayMs >= last && delayMs <= 300_000)) expect.unreachable(`try ${n} waits ${delayMs} after ${last}`);
      last = delayMs;
    }
    expect(last).toBe(300_000);
  });
});

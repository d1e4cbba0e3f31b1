import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type EngineEvent, type PawlError, RetryAfterError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("a step, on the store $name", ({ create }) => {
  it("a step runs its body once and returns its value, sync or async", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const steps = workflow("steps", async (ctx) => [
      await ctx.step("plain", () => ++calls),
      await ctx.step("promise", async () => ++calls),
      await ctx.step("nothing", () => {}),
      await ctx.step("null", () => null),
    ]);
    const engine = await cluster.engine({ workflows: [steps] });
    expect(await cluster.result(await engine.start(steps, undefined))).toEqual([1, 2, undefined, null]);
    expect(calls).toBe(2);
  });

  it("a committed step does not run again after a crash", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const note = (name: string, value: string): string => {
      ran.push(name);
      return value;
    };
    const two = workflow("two", async (ctx) => {
      const a = await ctx.step("a", () => note("a", "from a"));
      await ctx.sleep("1 minute");
      const b = await ctx.step("b", () => note("b", "from b"));
      return [a, b];
    });
    const first = await cluster.engine({ workflows: [two] });
    const run = await first.start(two, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [two] });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(second.run(run.id))).toEqual(["from a", "from b"]);
    expect(ran).toEqual(["a", "b"]);
  });

  it("a failed step is retried with growing delays, and holds no slot meanwhile", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const flaky = workflow("flaky", async (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          at.push(cluster.world.now());
          if (attempt < 4) throw new Error(`try ${attempt}`);
          return attempt;
        },
        { retry: { maxAttempts: 4, initialMs: 1_000, factor: 3, jitter: 0 } },
      ),
    );
    const other = workflow("other", async () => "done");
    const engine = await cluster.engine({ workflows: [flaky, other], concurrency: 1 });
    const run = await engine.start(flaky, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    expect(await cluster.result(await engine.start(other, undefined))).toBe("done");
    await cluster.world.advance("1 minute");
    expect(await cluster.result(run)).toBe(4);
    expect(at.map((time) => time - at[0]!)).toEqual([0, 1_000, 4_000, 13_000]);
  });

  it("a step fails with its last error when its attempts are exhausted", async () => {
    const cluster = await create(onTestFinished);
    let attempts = 0;
    const doomed = workflow("doomed", async (ctx) =>
      ctx.step(
        "call",
        () => {
          attempts += 1;
          throw Object.assign(new TypeError(`try ${attempts}`), { code: "E_NO", details: { status: 500 } });
        },
        { retry: { maxAttempts: 3, initialMs: 10 } },
      ),
    );
    const engine = await cluster.engine({ workflows: [doomed] });
    const run = await engine.start(doomed, undefined);
    await cluster.world.advance("1 s");
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { name: "TypeError", message: "try 3", code: "E_NO" } });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error.cause as { details?: unknown }).details).toEqual({ status: 500 });
    expect(attempts).toBe(3);
  });

  it("a step keeps its attempt count and its delay when the process crashes between two attempts", async () => {
    const cluster = await create(onTestFinished);
    const attempts: Array<{ readonly attempt: number; readonly at: number }> = [];
    const start = cluster.world.now();
    const flaky = workflow("flaky", async (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          attempts.push({ attempt, at: cluster.world.now() - start });
          if (attempt < 3) throw new Error("no");
          return attempt;
        },
        { retry: { maxAttempts: 3, initialMs: "1 minute", factor: 1, jitter: 0 } },
      ),
    );
    const first = await cluster.engine({ workflows: [flaky] });
    const run = await first.start(flaky, undefined);
    await cluster.world.advance("30 s");
    const second = await cluster.takeOver(first, { workflows: [flaky] });
    await cluster.world.advance("23 s");
    expect(attempts).toHaveLength(1);
    await cluster.world.advance("10 s");
    expect(attempts).toHaveLength(2);
    const third = await cluster.takeOver(second, { workflows: [flaky] });
    await cluster.world.advance("1 minute");
    expect(await cluster.result(third.run(run.id))).toBe(3);
    expect(attempts.map((one) => one.attempt)).toEqual([1, 2, 3]);
    expect(attempts[1]!.at).toBe(60_000);
    expect(attempts[2]!.at - attempts[1]!.at).toBe(60_000);
  });

  it("a step body that was running at a crash runs again as the same attempt", async () => {
    const cluster = await create(onTestFinished);
    const attempts: number[] = [];
    const keys = new Set<string>();
    const slow = workflow("slow", async (ctx) =>
      ctx.step("call", ({ attempt, idempotencyKey }) => {
        attempts.push(attempt);
        keys.add(idempotencyKey);
        return attempts.length === 1 ? new Promise<string>(() => {}) : "done";
      }),
    );
    const first = await cluster.engine({ workflows: [slow] });
    const run = await first.start(slow, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [slow] });
    expect(await cluster.result(second.run(run.id))).toBe("done");
    expect(attempts).toEqual([1, 1]);
    expect(keys.size).toBe(1);
  });

  it("the idempotency key is the same for every attempt, whether default or custom", async () => {
    const cluster = await create(onTestFinished);
    const seen: Record<string, Set<string>> = { own: new Set(), given: new Set(), again: new Set() };
    const keyed = workflow("keyed", async (ctx) => {
      const body =
        (into: string) =>
        (info: { attempt: number; idempotencyKey: string }): void => {
          seen[into]!.add(info.idempotencyKey);
          if (info.attempt === 1) throw new Error("no");
        };
      await ctx.step("pay", body("own"), { retry: { initialMs: 1 } });
      await ctx.step("pay", body("again"), { retry: { initialMs: 1 } });
      await ctx.step("pay", body("given"), { retry: { initialMs: 1 }, idempotencyKey: "key-1" });
    });
    const engine = await cluster.engine({ workflows: [keyed] });
    const run = await engine.start(keyed, undefined, { id: "r" });
    await cluster.world.advance("1 s");
    await cluster.result(run);
    expect([...seen.own!]).toEqual(["r/pay"]);
    expect([...seen.again!]).toEqual(["r/pay#2"]);
    expect([...seen.given!]).toEqual(["key-1"]);
  });

  it("a step runs once with retry false, and follows the workflow's policy by default", async () => {
    const cluster = await create(onTestFinished);
    const attempts = { once: 0, workflow: 0 };
    const both = workflow("both", { retry: { maxAttempts: 5, initialMs: 1 } }, async (ctx) => {
      const once = await ctx.tryStep("once", () => fail("once"), { retry: false });
      const five = await ctx.tryStep("five", () => fail("workflow"));
      return [once.ok, five.ok];
    });
    const fail = (which: keyof typeof attempts): never => {
      attempts[which] += 1;
      throw new Error("no");
    };
    const engine = await cluster.engine({ workflows: [both] });
    const run = await engine.start(both, undefined);
    await cluster.world.advance("1 s");
    expect(await cluster.result(run)).toEqual([false, false]);
    expect(attempts).toEqual({ once: 1, workflow: 5 });
  });

  it("a step is not retried if shouldRetry returns false or throws, or the error is critical", async () => {
    const cluster = await create(onTestFinished);
    const attempts: string[] = [];
    const picky = workflow("picky", async (ctx) => {
      const failing = (name: string, error: () => Error) => () => {
        attempts.push(name);
        throw error();
      };
      const retry = { maxAttempts: 4, initialMs: 1 };
      const refused = await ctx.tryStep(
        "refused",
        failing("refused", () => new Error("bad request")),
        {
          retry: { ...retry, shouldRetry: (error, attempt) => error.message !== "bad request" || attempt < 2 },
        },
      );
      const threw = await ctx.tryStep(
        "threw",
        failing("threw", () => new Error("x")),
        {
          retry: {
            ...retry,
            shouldRetry: () => {
              throw new Error("in shouldRetry");
            },
          },
        },
      );
      const critical = await ctx.tryStep(
        "critical",
        failing("critical", () => new CriticalError("never")),
        { retry },
      );
      return [refused, threw, critical].map((each) => (each.ok ? "ok" : each.failure.kind));
    });
    const engine = await cluster.engine({ workflows: [picky] });
    const run = await engine.start(picky, undefined);
    await cluster.world.advance("1 s");
    expect(await cluster.result(run)).toEqual(["exhausted", "exhausted", "critical"]);
    expect(attempts).toEqual(["refused", "refused", "threw", "critical"]);
  });

  it("shouldRetry receives the thrown error itself, and its promise is awaited", async () => {
    const cluster = await create(onTestFinished);
    class Busy extends Error {}
    const seen: unknown[] = [];
    const thrown: Error[] = [];
    const picky = workflow("picky", async (ctx) =>
      ctx.tryStep(
        "call",
        ({ attempt }) => {
          thrown.push(attempt < 3 ? new Busy(`busy ${attempt}`) : new Error("broken"));
          throw thrown.at(-1);
        },
        {
          retry: {
            maxAttempts: 9,
            initialMs: 1,
            shouldRetry: async (error) => {
              await Promise.resolve();
              seen.push(error);
              return error instanceof Busy;
            },
          },
        },
      ),
    );
    const engine = await cluster.engine({ workflows: [picky] });
    const run = await engine.start(picky, undefined);
    await cluster.world.advance("1 s");
    expect(await cluster.result(run)).toMatchObject({ ok: false, failure: { kind: "exhausted" } });
    expect(thrown).toHaveLength(3);
    expect(seen.map((error, index) => error === thrown[index])).toEqual([true, true, true]);
  });

  it("shouldRetry receives an error that describes the thrown value if the value is no error", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[] = [];
    const shouldRetry = (error: unknown): boolean => seen.push(error) < 0;
    const odd = workflow("odd", async (ctx) => {
      await ctx.tryStep("text", () => Promise.reject("late"), { retry: { shouldRetry } });
      await ctx.tryStep("nothing", () => Promise.reject(undefined), { retry: { shouldRetry } });
    });
    const engine = await cluster.engine({ workflows: [odd] });
    await cluster.result(await engine.start(odd, undefined));
    expect(seen.map((error) => (error as Error).message)).toEqual(["late", "undefined was thrown"]);
  });

  it("a step whose shouldRetry rejects is not retried, and the failure is logged", async () => {
    const cluster = await create(onTestFinished);
    const lines: string[] = [];
    const picky = workflow("picky", async (ctx) =>
      ctx.step("call", () => Promise.reject(new Error("no")), {
        retry: { shouldRetry: () => Promise.reject(new Error("in shouldRetry")) },
      }),
    );
    const engine = await cluster.engine({ workflows: [picky], log: (level, text) => lines.push(`${level}: ${text}`) });
    expect(await cluster.failure(await engine.start(picky, undefined))).toMatchObject({ cause: { message: "no" } });
    expect(lines).toContain("warn: shouldRetry threw; step will not be retried");
  });

  it("a run that is cancelled while shouldRetry is pending discards its answer", async () => {
    const cluster = await create(onTestFinished);
    const answers: Array<(answer: boolean) => void> = [];
    const shouldRetry = (): Promise<boolean> => new Promise((resolve) => answers.push(resolve));
    const slow = workflow("slow", async (ctx) =>
      ctx.step("call", () => Promise.reject(new Error("no")), { retry: { shouldRetry } }),
    );
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.settle();
    const cancelled = run.cancel("stop");
    await cluster.world.settle();
    answers[0]?.(true);
    expect(await cancelled).toBe(true);
    await cluster.world.advance("1 minute");
    expect(await run.status()).toBe("cancelled");
    expect(answers).toHaveLength(1);
    expect((await run.journal()).map(({ kind }) => kind)).not.toContain("retry");
  });

  it("the delay of a retry is what retry.delay returns, or a RetryAfterError contains, without jitter", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const errors = [new Error("a"), new Error("b"), new RetryAfterError("c", "PT20S"), new Error("d"), new Error("e")];
    const seen: string[] = [];
    const limited = workflow("limited", async (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          at.push(cluster.world.now());
          const error = errors[attempt - 1];
          if (error !== undefined) throw error;
        },
        {
          retry: {
            maxAttempts: 9,
            initialMs: 100,
            factor: 1,
            jitter: 0,
            maxMs: 100,
            delay: async (attempt, error) => {
              seen.push(`${attempt} ${error.message}`);
              return attempt === 1 ? 3_000 : attempt === 2 ? "4 s" : attempt === 4 ? undefined : -1;
            },
          },
        },
      ),
    );
    const engine = await cluster.engine({ workflows: [limited] });
    const run = await engine.start(limited, undefined);
    await cluster.world.advance("1 minute");
    await cluster.result(run);
    expect(at.map((time, index) => time - (at[index - 1] ?? time))).toEqual([0, 3_000, 4_000, 20_000, 100, 100]);
    expect(seen).toEqual(["1 a", "2 b", "4 d", "5 e"]);
  });

  it("the delay that a RetryAfterError contains is kept when another worker takes over", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const limited = workflow("limited", { retry: { maxAttempts: 2 } }, async (ctx) =>
      ctx.step("call", ({ attempt }) => {
        at.push(cluster.world.now());
        if (attempt === 1) throw new RetryAfterError("429", "1 hour");
        return "done";
      }),
    );
    const first = await cluster.engine({ workflows: [limited] });
    const run = await first.start(limited, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [limited] });
    await cluster.world.advance("2 hours");
    expect(await cluster.result(second.run(run.id))).toBe("done");
    expect(at[1]! - at[0]!).toBe(3_600_000);
  });

  it("a RetryAfterError with an invalid delay is rejected where it is created", () => {
    expect(() => new RetryAfterError("429", -1)).toThrow("delay of RetryAfterError");
  });

  it("a step that exceeds its timeout is aborted through its signal and fails at once", async () => {
    const cluster = await create(onTestFinished);
    const reasons: unknown[] = [];
    const slow = workflow("slow", async (ctx) => {
      const end = await ctx.tryStep(
        "call",
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            });
          }),
        { timeout: "5 s", retry: { maxAttempts: 3, initialMs: 1 } },
      );
      return end.ok
        ? "ok"
        : { kind: end.failure.kind, step: end.failure.step, code: (end.failure.error as PawlError).code };
    });
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.advance(4_999);
    expect(await run.status()).toBe("running");
    await cluster.world.advance(1);
    expect(await cluster.result(run)).toEqual({ kind: "timeout", step: "call", code: "STEP_TIMEOUT" });
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatchObject({ code: "STEP_TIMEOUT" });
  });

  it("retryOnTimeout retries a step after a timeout, and the late result of the first attempt is discarded", async () => {
    const cluster = await create(onTestFinished);
    const late: Array<(value: string) => void> = [];
    const slow = workflow("slow", async (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => (attempt === 1 ? new Promise<string>((resolve) => late.push(resolve)) : "second"),
        {
          timeout: "5 s",
          retryOnTimeout: true,
          retry: { initialMs: "10 s", jitter: 0 },
        },
      ),
    );
    const engine = await cluster.engine({ workflows: [slow] });
    const run = await engine.start(slow, undefined);
    await cluster.world.advance("6 s");
    late[0]!("first, late");
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    await cluster.world.advance("10 s");
    expect(await cluster.result(run)).toBe("second");
    expect((await run.journal()).map((record) => `${record.kind} ${record.outcome}`)).toEqual([
      "retry failed",
      "step ok",
    ]);
  });

  it("an ephemeral step is committed with the next record, and runs again if a crash comes first", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const cheap = workflow("cheap", async (ctx) => {
      await ctx.step("a", () => void ran.push("a"), { ephemeral: true });
      await ctx.step("b", () => {
        ran.push("b");
        return ran.length > 2 ? undefined : new Promise<void>(() => {});
      });
      return ran.length;
    });
    const first = await cluster.engine({ workflows: [cheap] });
    const run = await first.start(cheap, undefined);
    await cluster.world.settle();
    expect(await run.journal()).toEqual([]);
    const second = await cluster.takeOver(first, { workflows: [cheap] });
    await cluster.result(second.run(run.id));
    expect(ran).toEqual(["a", "b", "a", "b"]);
    expect((await second.run(run.id).journal()).map((record) => record.location)).toEqual(["a", "b"]);
  });

  it("a step whose value cannot be stored fails without a retry", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const bad = workflow("bad", async (ctx) =>
      ctx.step("make", () => {
        calls += 1;
        return { deep: [{ call: () => 1 }] };
      }),
    );
    const engine = await cluster.engine({ workflows: [bad] });
    const error = await cluster.failure(await engine.start(bad, undefined));
    expect(error.cause).toMatchObject({ code: "PAYLOAD_UNSUPPORTED" });
    expect((error.cause as Error).message).toContain("output of step make");
    expect((error.cause as Error).message).toContain("$.deep[0].call");
    expect(calls).toBe(1);
  });

  it("two steps of the same name have different locations", async () => {
    const cluster = await create(onTestFinished);
    const loop = workflow("loop", async (ctx) => {
      const all: number[] = [];
      for (let i = 0; i < 3; i += 1) all.push(await ctx.step("round", () => i));
      return all;
    });
    const engine = await cluster.engine({ workflows: [loop] });
    const run = await engine.start(loop, undefined);
    expect(await cluster.result(run)).toEqual([0, 1, 2]);
    expect((await run.journal()).map((record) => record.location)).toEqual(["round", "round#2", "round#3"]);
  });

  it("a step body starts only after the previous record is durable", async () => {
    const cluster = await create(onTestFinished);
    const committed: string[] = [];
    const seen: string[][] = [];
    const two = workflow("two", async (ctx) => {
      await ctx.step("a", () => "a");
      await ctx.step("b", () => void seen.push([...committed]));
    });
    const engine = await cluster.engine({ workflows: [two] });
    engine.on("record", ({ record }) => committed.push(record.location));
    await cluster.result(await engine.start(two, undefined));
    expect(seen).toEqual([["a"]]);
  });

  it("tryStep returns the value or the failure, and the same after a crash", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const seen: unknown[] = [];
    const careful = workflow("careful", async (ctx) => {
      const good = await ctx.tryStep("good", () => ++calls);
      const bad = await ctx.tryStep("bad", () => {
        calls++;
        throw new CriticalError("no");
      });
      seen.push([
        good,
        bad.ok ? null : { ...bad.failure, error: { name: bad.failure.error.name, message: bad.failure.error.message } },
      ]);
      await ctx.listen("go");
    });
    const first = await cluster.engine({ workflows: [careful] });
    const run = await first.start(careful, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [careful] });
    await second.send(run.id, "go", null);
    await cluster.result(second.run(run.id));
    expect(calls).toBe(2);
    expect(seen[0]).toEqual([
      { ok: true, value: 1 },
      { kind: "critical", step: "bad", error: { name: "CriticalError", message: "no" } },
    ]);
    expect(seen[1]).toEqual(seen[0]);
  });

  it("the record event is emitted once for each retry and for the final failure, even after a takeover", async () => {
    const cluster = await create(onTestFinished);
    const failing = workflow("failing", async (ctx) => {
      const result = await ctx.tryStep("s", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 2 } });
      await ctx.listen("go");
      return result.ok;
    });
    const engine = await cluster.engine({ workflows: [failing] });
    const seen: string[] = [];
    const note = (event: EngineEvent): void => {
      if (event.kind !== "record") return;
      const { kind, outcome, attempts } = event.record;
      seen.push(`${kind} ${outcome} after ${attempts} attempts`);
    };
    engine.on("record", note);
    await engine.start(failing, undefined, { id: "r" });
    await cluster.world.advance("10 s");
    const heir = await cluster.takeOver(engine, { workflows: [failing] });
    heir.on("record", note);
    await heir.run("r").send("go", 1);
    expect(await cluster.finish(heir.run("r"))).toBe(false);
    expect(seen).toEqual([
      "retry failed after 1 attempts",
      "step failed after 2 attempts",
      "listen ok after 0 attempts",
    ]);
  });

  it("ctx.transaction rejects an unreadable name with a code, also if its body is missing", async () => {
    const cluster = await create(onTestFinished);
    const revocable = Proxy.revocable({}, {});
    revocable.revoke();
    const wrong = workflow("wrong", async (ctx) => {
      const transaction = ctx.transaction.bind(ctx) as (name: unknown) => Promise<unknown>;
      return await transaction(revocable.proxy).catch((error: PawlError) => error.code);
    });
    const engine = await cluster.engine({ workflows: [wrong] });
    expect(await cluster.result(await engine.start(wrong, undefined))).toBe("NAME_INVALID");
  });

  it("ctx.step rejects invalid options and names at the call", async () => {
    const cluster = await create(onTestFinished);
    const codes: unknown[] = [];
    const wrong = workflow("wrong", async (ctx) => {
      const attempt = async (call: () => Promise<unknown>): Promise<void> => {
        await call().catch((error: PawlError) => codes.push(error.code));
      };
      await attempt(() => ctx.step("", () => 1));
      await attempt(() => ctx.step("a\u0000b", () => 1));
      await attempt(() => ctx.step("x".repeat(256), () => 1));
      await attempt(() => ctx.step("a", () => 1, { timeout: -1 }));
      await attempt(() => ctx.step("a", () => 1, { timeout: Number.NaN }));
      await attempt(() => ctx.step("a", () => 1, { timeout: "soon" }));
      await attempt(() => ctx.step("a", () => 1, { retry: { maxAttempts: 0 } }));
      await attempt(() => ctx.step("a", () => 1, { retry: { initialMs: Number.POSITIVE_INFINITY } }));
    });
    const engine = await cluster.engine({ workflows: [wrong] });
    await cluster.result(await engine.start(wrong, undefined));
    expect(codes).toEqual([
      "NAME_INVALID",
      "NAME_INVALID",
      "NAME_INVALID",
      "DURATION_INVALID",
      "DURATION_INVALID",
      "DURATION_INVALID",
      "OPTION_INVALID",
      "DURATION_INVALID",
    ]);
  });
});

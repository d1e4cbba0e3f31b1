import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type StepInfo, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Two steps. The body of the first ends when the test says so. */
function working() {
  const notes: string[] = [];
  const waiting: Array<() => void> = [];
  const body = ({ signal }: StepInfo): Promise<string> => {
    notes.push("first");
    signal.addEventListener("abort", () => notes.push("aborted"));
    return new Promise((resolve) => waiting.push(() => resolve("done")));
  };
  const steps = workflow("steps", async (ctx) => {
    const first = await ctx.step("first", body);
    await ctx.step("second", () => void notes.push("second"));
    return first;
  });
  const end = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { notes, steps, end };
}

describe.each(TEST_STORES)("pause of a run that executes a step, on the store $name", ({ create }) => {
  it("a pause lets the running body end, records it and starts no other", async () => {
    const cluster = await create(onTestFinished);
    const { notes, steps, end } = working();
    const engine = await cluster.engine({ workflows: [steps] });
    const run = await engine.start(steps, undefined);
    await cluster.world.settle();
    const paused = run.pause("for maintenance");
    await cluster.world.advance("5 s");
    expect(await run.status()).toBe("running");
    end();
    await paused;
    expect(await engine.get(run.id)).toMatchObject({ status: "paused", error: { message: "for maintenance" } });
    expect((await run.journal()).map(({ location }) => location)).toEqual(["first"]);
    await run.resume();
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("done");
    expect(notes).toEqual(["first", "second"]);
  });

  it("a pause with now aborts the running body, which is executed again after the resume", async () => {
    const cluster = await create(onTestFinished);
    const { notes, steps, end } = working();
    const engine = await cluster.engine({ workflows: [steps] });
    const run = await engine.start(steps, undefined);
    await cluster.world.settle();
    await run.pause({ now: true, reason: "stop" });
    expect(await engine.get(run.id)).toMatchObject({ status: "paused", error: { message: "stop" } });
    end();
    await run.resume();
    await cluster.world.advance("2 s");
    end();
    expect(await cluster.result(run)).toBe("done");
    expect(notes).toEqual(["first", "aborted", "first", "second"]);
  });

  it("a pause from another process waits until the owner has paused the run", async () => {
    const cluster = await create(onTestFinished);
    const { steps, end } = working();
    const worker = await cluster.engine({ workflows: [steps] });
    const client = await cluster.engine();
    const run = await worker.start(steps, undefined);
    await cluster.world.settle();
    const paused = client.pause(run.id);
    await cluster.world.advance("2 s");
    end();
    await cluster.world.advance("2 s");
    await paused;
    expect(await run.status()).toBe("paused");
    expect((await run.journal()).map(({ location }) => location)).toEqual(["first"]);
  });

  it("a failed attempt of a body that was running at the pause counts, and the next one starts after the resume", async () => {
    const cluster = await create(onTestFinished);
    const attempts: number[] = [];
    const rejects: Array<(error: Error) => void> = [];
    const flaky = workflow("flaky", async (ctx) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          attempts.push(attempt);
          return attempt === 2 ? "done" : new Promise<string>((_, reject) => rejects.push(reject));
        },
        { retry: { maxAttempts: 2, initialMs: "1 s", jitter: 0 } },
      ),
    );
    const engine = await cluster.engine({ workflows: [flaky] });
    const run = await engine.start(flaky, undefined);
    await cluster.world.settle();
    const paused = run.pause();
    await cluster.world.settle();
    rejects[0]!(new Error("busy"));
    await paused;
    await cluster.world.advance("1 minute");
    expect(attempts).toEqual([1]);
    await run.resume();
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("done");
    expect(attempts).toEqual([1, 2]);
  });

  it("a run whose worker crashes while it is about to pause is paused by the next worker", async () => {
    const cluster = await create(onTestFinished);
    const { notes, steps } = working();
    const first = await cluster.engine({ workflows: [steps] });
    const run = await first.start(steps, undefined);
    await cluster.world.settle();
    const client = await cluster.engine();
    const paused = client.pause(run.id);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [steps] });
    await cluster.world.advance("3 s");
    await paused;
    expect(await second.run(run.id).status()).toBe("paused");
    expect(notes.filter((note) => note === "first").length).toBeLessThanOrEqual(1);
  });

  it("a resume withdraws earlier requests to pause, also those that came twice", async () => {
    const cluster = await create(onTestFinished);
    const { steps, end } = working();
    const engine = await cluster.engine({ workflows: [steps] });
    const run = await engine.start(steps, undefined);
    await cluster.world.settle();
    const paused = Promise.all([run.pause("one"), run.pause("two")]);
    await cluster.world.settle();
    await run.pause({ now: true });
    await paused;
    await run.resume();
    await cluster.world.advance("2 s");
    end();
    expect(await cluster.result(run)).toBe("done");
  });

  it("a compensating run is paused after the rollback that is running", async () => {
    const cluster = await create(onTestFinished);
    const notes: string[] = [];
    const waiting: Array<() => void> = [];
    const pay = workflow("pay", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: () => void notes.push("a undone") });
      await ctx.step("b", () => 2, {
        rollback: () =>
          new Promise<void>((resolve) => {
            notes.push("b undone");
            waiting.push(resolve);
          }),
      });
      throw new CriticalError("lost");
    });
    const engine = await cluster.engine({ workflows: [pay] });
    const run = await engine.start(pay, undefined);
    await cluster.world.settle();
    const paused = run.pause();
    await cluster.world.settle();
    for (const resolve of waiting) resolve();
    await paused;
    await cluster.world.advance("1 minute");
    expect([await run.status(), notes]).toEqual(["paused", ["b undone"]]);
    await run.resume();
    await cluster.world.advance("2 s");
    await cluster.failure(run);
    expect(notes).toEqual(["b undone", "a undone"]);
  });

  it("a pause of a run that ends at the same time rejects with RUN_ENDED, or pauses it", async () => {
    const outcomes = new Set<string>();
    for (let turns = 0; turns < 8; turns += 1) {
      const cluster = await create(onTestFinished);
      const { steps, end } = working();
      const engine = await cluster.engine({ workflows: [steps] });
      const run = await engine.start(steps, undefined);
      await cluster.world.settle();
      end();
      for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      const outcome = await run.pause().then(
        () => "paused",
        (error: { code: string }) => error.code,
      );
      await cluster.world.settle();
      expect(await run.status()).toBe(outcome === "RUN_ENDED" ? "completed" : "paused");
      outcomes.add(outcome);
    }
    expect(outcomes.size).toBeGreaterThan(0);
  });

  it("unknown options of pause are rejected", async () => {
    const cluster = await create(onTestFinished);
    const { steps } = working();
    const engine = await cluster.engine({ workflows: [steps] });
    const run = await engine.start(steps, undefined);
    await expect(run.pause({ force: true } as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(run.pause({ now: 1 } as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type Ctx, Loop, RollbackError, rollbackFailures, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

function gated<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}

/** Executed steps as `+name` and rollbacks as `-name`, in order. */
class Ledger {
  readonly lines: string[] = [];

  /** A step with a rollback. */
  step(ctx: Ctx, name: string): Promise<string> {
    return ctx.step(name, () => this.did(name), { rollback: (value) => this.undid(value) });
  }

  did(name: string): string {
    this.lines.push(`+${name}`);
    return name;
  }

  undid(name: string): void {
    this.lines.push(`-${name}`);
  }
}

describe.each(TEST_STORES)("compensation, on the store $name", ({ create }) => {
  it("a failing run rolls back its completed steps, newest first, each with the step's result", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const trip = workflow("trip", async (ctx) => {
      await ledger.step(ctx, "flight");
      await ctx.step("plain", () => ledger.did("plain"));
      await ledger.step(ctx, "hotel");
      throw new Error("no car");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { message: "no car" } });
    expect(rollbackFailures(error)).toEqual([]);
    expect(ledger.lines).toEqual(["+flight", "+plain", "+hotel", "-hotel", "-flight"]);
    const journal = await run.journal();
    expect(journal.map(({ kind, location, outcome, detail }) => [kind, location, outcome, detail])).toEqual([
      ["step", "flight", "ok", "rollback"],
      ["step", "plain", "ok", null],
      ["step", "hotel", "ok", "rollback"],
      ["compensate", "~compensate", "failed", "failed"],
      ["rollback", "hotel/~rollback", "ok", null],
      ["rollback", "flight/~rollback", "ok", null],
    ]);
    expect(await run.status()).toBe("failed");
  });

  it("each completed step is rolled back once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const ledger = new Ledger();
      const trip = workflow("trip", async (ctx) => {
        await ledger.step(ctx, "a");
        await Promise.all([ledger.step(ctx, "b"), ledger.step(ctx, "c")]);
        await ctx.step("boom", () => {
          throw new CriticalError("boom");
        });
      });
      const first = await cluster.engine({ workflows: [trip], crashAt });
      void first.start(trip, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows: [trip] }) : first;
      const run = crashed ? await engine.start(trip, undefined, { id: "r" }) : engine.run("r");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED", cause: { message: "boom" } });
      const journal = await run.journal();
      expect(journal.slice(3).map(({ kind, location }) => [kind, location])).toEqual([
        ["step", "boom"],
        ["compensate", "~compensate"],
        ...[...journal.slice(0, 3)].reverse().map(({ location }) => ["rollback", `${location}/~rollback`]),
      ]);
      // A step body is executed twice only if its process crashed before its result was committed.
      for (const line of new Set(ledger.lines)) {
        const times = ledger.lines.filter((other) => other === line).length;
        expect(times).toBeLessThanOrEqual(crashed ? 2 : 1);
      }
      return crashed;
    });
    expect(crashes).toBeGreaterThan(8);
  });

  it("the run's status is compensating from the first rollback on, and each rollback emits an event", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[] = [];
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: async () => void seen.push((await engine.get("r"))?.status) });
      await ctx.sleep("1 minute");
      throw new Error("late");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    engine.on("run.compensating", ({ runId, error }) => seen.push(["compensating", runId, error?.message]));
    engine.on("rollback", ({ runId, step, error }) => seen.push(["rollback", runId, step, error]));
    engine.on("run.compensated", ({ runId, failures }) => seen.push(["compensated", runId, failures]));
    engine.on("run.failed", ({ runId }) => seen.push(["failed", runId]));
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.advance("1 minute");
    await cluster.failure(run);
    expect(seen).toEqual([
      ["compensating", "r", "late"],
      "compensating",
      ["rollback", "r", "a", null],
      ["compensated", "r", []],
      ["failed", "r"],
    ]);
  });

  it("the run's status is compensating even if the run fails without suspending first", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[] = [];
    const gate = gated<void>();
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: async () => void seen.push((await engine.get("r"))?.status) });
      await ctx.step("b", () => 1, { rollback: async () => void seen.push((await engine.get("r"))?.status) });
      await gate.promise;
      throw new Error("at once");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    gate.resolve();
    await cluster.failure(run);
    expect(seen).toEqual(["compensating", "compensating"]);
  });

  it("compensation continues after a rollback that failed finally, and reports every such failure with the run's own", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const failing = (name: string) => ({
      run: () => {
        ledger.undid(`${name}?`);
        throw Object.assign(new Error(`${name} stays`), { code: "E_STAYS" });
      },
      retry: { maxAttempts: 2, initialMs: 10 } as const,
    });
    const trip = workflow("trip", { codeErrors: "fail" }, async (ctx) => {
      await ledger.step(ctx, "a");
      await ctx.step("b", () => ledger.did("b"), { rollback: failing("b") });
      await ledger.step(ctx, "c");
      await ctx.step("d", () => ledger.did("d"), { rollback: failing("d") });
      throw new TypeError("original");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const events: unknown[] = [];
    engine.on("rollback", ({ step, error }) => events.push([step, error?.message]));
    engine.on("run.compensated", ({ failures }) => events.push(failures.map(({ step }) => step)));
    const run = await engine.start(trip, undefined);
    await cluster.world.advance("1 s");
    const error = await cluster.failure(run);
    expect(error.message).toContain("original; rollbacks failed for these steps: d, b");
    expect(error.cause).toMatchObject({ name: "TypeError", message: "original" });
    expect(rollbackFailures(error)).toMatchObject([
      { step: "d", error: { message: "d stays", code: "E_STAYS" } },
      { step: "b", error: { message: "b stays", code: "E_STAYS" } },
    ]);
    expect(rollbackFailures((await engine.get(run.id))?.error)).toHaveLength(2);
    expect(ledger.lines).toEqual(["+a", "+b", "+c", "+d", "-d?", "-d?", "-c", "-b?", "-b?", "-a"]);
    expect(events).toEqual([
      ["d", "d stays"],
      ["c", undefined],
      ["b", "b stays"],
      ["a", undefined],
      ["d", "b"],
    ]);
    const rollbacks = (await run.journal()).filter(({ kind }) => kind === "rollback");
    expect(rollbacks.map(({ location, outcome, attempts }) => [location, outcome, attempts])).toEqual([
      ["d/~rollback", "failed", 2],
      ["c/~rollback", "ok", 1],
      ["b/~rollback", "failed", 2],
      ["a/~rollback", "ok", 1],
    ]);
  });

  it("a failed rollback is retried by its own policy, and the run holds no slot meanwhile", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const keys = new Set<string>();
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => "value", {
        retry: false,
        rollback: {
          run: (value, { attempt, idempotencyKey }) => {
            at.push(cluster.world.now());
            keys.add(`${value} ${idempotencyKey}`);
            if (attempt < 4) throw new Error("not yet");
          },
          retry: { maxAttempts: 4, initialMs: 1_000, factor: 3, jitter: 0 },
        },
      });
      throw new Error("original");
    });
    const other = workflow("other", async () => "done");
    const engine = await cluster.engine({ workflows: [trip, other], concurrency: 1 });
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    expect(await engine.get("r")).toMatchObject({ status: "compensating", undo: "underWay" });
    expect((await engine.list({ status: ["compensating"] })).items.map(({ id }) => id)).toEqual(["r"]);
    expect(await cluster.result(await engine.start(other, undefined))).toBe("done");
    await cluster.world.advance("1 minute");
    expect(rollbackFailures(await cluster.failure(run))).toEqual([]);
    expect(at.map((time) => time - at[0]!)).toEqual([0, 1_000, 4_000, 13_000]);
    expect([...keys]).toEqual(["value r/a/~rollback"]);
  });

  it("another worker continues compensation on time when its worker crashes between two attempts of a rollback", async () => {
    const cluster = await create(onTestFinished);
    const at: number[] = [];
    const trip = workflow("trip", async (ctx) => {
      const rollback = {
        run: (_: unknown, { attempt }: { attempt: number }) => {
          at.push(cluster.world.now());
          if (attempt < 2) throw new Error("not yet");
        },
        retry: { maxAttempts: 2, initialMs: "1 minute", jitter: 0 },
      };
      await ctx.step("a", () => 1, { rollback });
      throw new Error("original");
    });
    const first = await cluster.engine({ workflows: [trip] });
    const run = await first.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [trip] });
    expect(await second.get("r")).toMatchObject({ status: "compensating", owner: null });
    await cluster.world.advance("1 minute");
    expect(await cluster.failure(second.run(run.id))).toMatchObject({ cause: { message: "original" } });
    expect(at[1]! - at[0]!).toBe(60_000);
  });

  it("compensation can be paused and resumed", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    let isUp = false;
    const trip = workflow("trip", async (ctx) => {
      await ledger.step(ctx, "a");
      await ctx.step("b", () => ledger.did("b"), {
        rollback: {
          run: () => {
            if (!isUp) throw new Error("down");
            ledger.undid("b");
          },
          retry: { maxAttempts: 1_000, initialMs: "1 minute", factor: 1, jitter: 0 },
        },
      });
      throw new Error("original");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.settle();
    await run.pause("maintenance");
    expect(await run.status()).toBe("paused");
    await cluster.world.advance("2 minutes");
    const before = (await run.journal()).length;
    isUp = true;
    await run.resume();
    expect(await run.status()).toBe("compensating");
    await cluster.world.settle();
    expect(await cluster.failure(run)).toMatchObject({ cause: { message: "original" } });
    expect(ledger.lines).toEqual(["+a", "+b", "-b", "-a"]);
    expect((await run.journal()).slice(before).map(({ kind }) => kind)).toEqual(["rollback", "rollback"]);
  });

  it("compensation rolls back steps in loops, joins, scopes, lost race branches and tryStep, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const ledger = new Ledger();
      const trip = workflow("trip", async (ctx) => {
        await ctx.loop({
          name: "loop",
          state: 0,
          commitInterval: 1,
          historyKeep: 0,
          run: async (c, count) => {
            if (count >= 1) await ledger.step(c, `l${count}`);
            return count < 2 ? Loop.continue(count + 1) : Loop.break(count);
          },
        });
        await ctx.join("join", { x: (c) => ledger.step(c, "x"), y: (c) => ledger.step(c, "y") });
        await ctx.race("race", {
          slow: async (c) => {
            await ledger.step(c, "slow");
            await c.sleep("1 hour");
          },
          fast: async (c) => {
            await c.sleep("1 s");
            return await ledger.step(c, "fast");
          },
        });
        await ctx.try("scope", (c) => ledger.step(c, "scoped"));
        await ctx.tryStep("tried", () => ledger.did("tried"), { rollback: (value) => ledger.undid(value) });
        throw new Error("late");
      });
      const first = await cluster.engine({ workflows: [trip], crashAt });
      void first.start(trip, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows: [trip] }) : first;
      const run = crashed ? await engine.start(trip, undefined, { id: "r" }) : engine.run("r");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED", cause: { message: "late" } });
      const journal = await run.journal();
      const done = journal.filter(({ detail, kind }) => kind === "step" && detail === "rollback");
      const undone = journal.filter(({ kind }) => kind === "rollback");
      expect(done).toHaveLength(8);
      expect(undone.map(({ location }) => location)).toEqual(
        [...done].reverse().map(({ location }) => `${location}/~rollback`),
      );
      if (!crashed)
        expect(ledger.lines.slice(8)).toEqual(
          [...ledger.lines.slice(0, 8)].reverse().map((line) => line.replace("+", "-")),
        );
      return crashed;
    });
    expect(crashes).toBeGreaterThan(20);
  });

  it("a step that completed beside the failing step is rolled back, even if the code never received its result", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const gate = gated<void>();
    const trip = workflow("trip", async (ctx) => {
      await Promise.all([
        ctx.step("fails", async () => {
          await gate.promise;
          throw new CriticalError("no");
        }),
        ctx.step(
          "beside",
          async () => {
            await gate.promise;
            return ledger.did("beside");
          },
          { rollback: (value) => ledger.undid(value) },
        ),
      ]);
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.settle();
    gate.resolve();
    await cluster.failure(run);
    expect(ledger.lines).toEqual(["+beside", "-beside"]);
  });

  it("a step that completed as its branch lost a race is rolled back, also after a crash", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const gate = gated<void>();
    const together = (ctx: Ctx, name: string): Promise<string> =>
      ctx.step(name, () => gate.promise.then(() => ledger.did(name)), { rollback: (value) => ledger.undid(value) });
    const trip = workflow("trip", async (ctx) => {
      await ctx.race("race", { one: (c) => together(c, "one"), two: (c) => together(c, "two") });
      await ctx.sleep("1 minute");
      throw new Error("late");
    });
    const first = await cluster.engine({ workflows: [trip] });
    const hot = await first.start(trip, undefined, { id: "hot" });
    const cold = await first.start(trip, undefined, { id: "cold" });
    await cluster.world.settle();
    gate.resolve();
    await cluster.world.settle();
    expect((await hot.journal()).map(({ kind }) => kind)).toEqual(["race", "step", "step"]);
    await cluster.world.advance("1 minute");
    await cluster.failure(hot);
    expect((await hot.journal()).filter(({ kind }) => kind === "rollback")).toHaveLength(2);
    expect((await cold.journal()).filter(({ kind }) => kind === "rollback")).toHaveLength(2);
    const again = workflow("trip", trip.run);
    const late = await first.start(again, undefined, { id: "late" });
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [again] });
    await cluster.world.advance("1 minute");
    await cluster.failure(second.run(late.id));
    const journal = await second.run("late").journal();
    const steps = journal.filter(({ kind }) => kind === "step");
    const undone = journal.filter(({ kind }) => kind === "rollback").map(({ location }) => location);
    expect(undone).toEqual([...steps].reverse().map(({ location }) => `${location}/~rollback`));
    expect(undone).toHaveLength(2);
  });

  it("code that still runs during compensation starts no step and ends no rollback", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const gate = gated<void>();
    const trip = workflow("trip", async (ctx) => {
      void ctx.race("race", {
        one: () => gate.promise,
        two: async (c) => {
          const rollback = (value: string, { attempt }: { attempt: number }): void => {
            if (attempt === 1) throw new Error("not yet");
            ledger.undid(value);
          };
          await c.step("x", () => ledger.did("x"), { rollback: { run: rollback, retry: { initialMs: "1 minute" } } });
          await c.listen("never");
        },
      });
      void gate.promise.then(() => ctx.step("after", () => ledger.did("after")));
      await ctx.sleep("1 s");
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.advance("2 s");
    expect(await run.status()).toBe("compensating");
    gate.resolve();
    await cluster.world.advance("2 minutes");
    expect(rollbackFailures(await cluster.failure(run))).toEqual([]);
    expect(ledger.lines).toEqual(["+x", "-x"]);
    expect((await run.journal()).at(-1)).toMatchObject({ kind: "rollback", location: "race/two/x/~rollback" });
  });

  it("a step body that is running when the run fails is aborted, and rolled back first if it completes", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const late = gated<string>();
    let aborted: unknown = null;
    const trip = workflow("trip", async (ctx) => {
      await ledger.step(ctx, "a");
      void ctx
        .step(
          "late",
          ({ signal }) => {
            signal.addEventListener("abort", () => {
              aborted = signal.reason;
            });
            return late.promise;
          },
          { rollback: () => ledger.undid("late") },
        )
        .catch(() => undefined);
      await ctx.step("fails", () => {
        throw new CriticalError("no");
      });
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.settle();
    late.resolve("late");
    await cluster.failure(run);
    expect(aborted).toMatchObject({ code: "RUN_CANCELLED" });
    expect(ledger.lines).toEqual(["+a", "-late", "-a"]);
  });

  it("a rollback gets the value the step returned, even if the code changed it since", async () => {
    const cluster = await create(onTestFinished);
    const got: unknown[] = [];
    const trip = workflow("trip", async (ctx) => {
      const value = await ctx.step("a", () => ({ ids: [1], at: new Date(5) }), {
        rollback: (given) => void got.push(given),
      });
      value.ids.push(2);
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    await cluster.failure(await engine.start(trip, undefined));
    expect(got).toEqual([{ ids: [1], at: new Date(5) }]);
  });

  it("a rollback that throws CriticalError or times out is not retried, and its return value is ignored", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: () => ({ method: () => "not data" }) });
      await ctx.step("b", () => 1, { rollback: { run: () => new Promise(() => undefined), timeout: "5 s" } });
      await ctx.step("c", () => 1, {
        rollback: () => {
          ledger.undid("c");
          throw new CriticalError("never");
        },
      });
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.advance("5 s");
    expect(rollbackFailures(await cluster.failure(run))).toMatchObject([
      { step: "c", error: { code: "CRITICAL" } },
      { step: "b", error: { code: "STEP_TIMEOUT" } },
    ]);
    expect(ledger.lines).toEqual(["-c"]);
  });

  it("a run whose output cannot be stored fails and is compensated", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const trip = workflow("trip", async (ctx) => {
      await ledger.step(ctx, "a");
      return { method: () => "not data" };
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const error = await cluster.failure(await engine.start(trip, undefined));
    expect(error.cause).toMatchObject({ code: "PAYLOAD_UNSUPPORTED" });
    expect(ledger.lines).toEqual(["+a", "-a"]);
  });

  it("steps are not rolled back when the run completes, or when a later generation fails", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const twice = workflow("twice", async (ctx, round: number) => {
      await ledger.step(ctx, `a${round}`);
      if (round === 0) return await ctx.continueAs(1);
      if (round === 1) throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [twice] });
    await cluster.result(await engine.start(twice, 2));
    await cluster.failure(await engine.start(twice, 0));
    expect(ledger.lines).toEqual(["+a2", "+a0", "+a1", "-a1"]);
  });

  it("a rollback that is not a function fails the run before the step starts", async () => {
    const cluster = await create(onTestFinished);
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: { run: "refund" as unknown as () => void } });
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    expect((await cluster.failure(run)).cause).toMatchObject({ code: "OPTION_INVALID" });
    expect(await run.journal()).toEqual([]);
  });
});

describe.each(TEST_STORES)("rollback checkpoints, on the store $name", ({ create }) => {
  it("only steps after the newest checkpoint are rolled back, also after replay", async () => {
    await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const ledger = new Ledger();
      const trip = workflow("trip", async (ctx) => {
        await ledger.step(ctx, "a");
        await ctx.rollbackCheckpoint("paid");
        await ledger.step(ctx, "b");
        await ctx.sleep("1 s");
        throw new Error("no");
      });
      const first = await cluster.engine({ workflows: [trip], crashAt });
      void first.start(trip, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows: [trip] }) : first;
      const run = crashed ? await engine.start(trip, undefined, { id: "r" }) : engine.run("r");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
      const kinds = (await run.journal()).map(({ kind, location }) => `${kind} ${location}`);
      expect(kinds).toEqual([
        "step a",
        "checkpoint paid",
        "step b",
        "sleep sleep",
        "compensate ~compensate",
        "rollback b/~rollback",
      ]);
      return crashed;
    });
  });

  it("a checkpoint is durable before the next step starts", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[] = [];
    const gate = gated<void>();
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: () => undefined });
      await gate.promise;
      await ctx.rollbackCheckpoint("paid");
      await ctx.step("b", async () => seen.push((await engine.get("r"))?.undo));
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    expect(await engine.get("r")).toMatchObject({ undo: "some" });
    gate.resolve();
    await cluster.result(run);
    expect(seen).toEqual(["none"]);
  });

  it("a loop can drop iterations with rollbacks when a checkpoint follows them", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const counted = (name: string, checkpoint: boolean) =>
      workflow(name, async (ctx) => {
        await ctx.loop({
          name: "loop",
          state: 0,
          commitInterval: 2,
          historyKeep: 0,
          run: async (c, count) => {
            await ledger.step(c, `s${count}`);
            if (checkpoint) await c.rollbackCheckpoint("done");
            return count < 20 ? Loop.continue(count + 1) : Loop.break(count);
          },
        });
        await ctx.listen("end");
      });
    const [kept, dropped] = [counted("kept", false), counted("dropped", true)];
    const engine = await cluster.engine({ workflows: [kept, dropped] });
    const all = await engine.start(kept, undefined);
    const few = await engine.start(dropped, undefined);
    await cluster.world.settle();
    expect((await all.journal()).filter(({ kind }) => kind === "step")).toHaveLength(21);
    expect((await few.journal()).filter(({ kind }) => kind === "step").length).toBeLessThan(4);
  });
});

describe.each(TEST_STORES)("RollbackError, on the store $name", ({ create }) => {
  it("a RollbackError in a step is not retried and starts compensation", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const trip = workflow("trip", async (ctx) => {
      await ledger.step(ctx, "a");
      await ctx.step("b", () => {
        ledger.did("b");
        throw new RollbackError("undo it");
      });
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const error = await cluster.failure(await engine.start(trip, undefined));
    expect(error.cause).toMatchObject({ name: "RollbackError", code: "ROLLBACK", message: "undo it" });
    expect(ledger.lines).toEqual(["+a", "+b", "-a"]);
  });

  it("a RollbackError passes through tryStep and try, unless tryStep catches rollback", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const undo = (): never => {
      throw new RollbackError("undo it");
    };
    const trip = workflow("trip", async (ctx, how: "tryStep" | "try" | "caught") => {
      await ledger.step(ctx, how);
      if (how === "tryStep") await ctx.tryStep("b", undo);
      if (how === "try") await ctx.try("scope", (c) => c.step("b", undo));
      const caught = await ctx.tryStep("b", undo, { catch: ["rollback"] });
      return caught.ok ? null : caught.failure.kind;
    });
    const engine = await cluster.engine({ workflows: [trip] });
    expect((await cluster.failure(await engine.start(trip, "tryStep"))).cause).toMatchObject({ code: "ROLLBACK" });
    expect((await cluster.failure(await engine.start(trip, "try"))).cause).toMatchObject({ code: "ROLLBACK" });
    expect(await cluster.result(await engine.start(trip, "caught"))).toBe("rollback");
    expect(ledger.lines).toEqual(["+tryStep", "-tryStep", "+try", "-try", "+caught"]);
  });

  it('tryStep rethrows other failures when it catches only "rollback"', async () => {
    const cluster = await create(onTestFinished);
    const trip = workflow("trip", async (ctx) => {
      await ctx.tryStep(
        "b",
        () => {
          throw new CriticalError("no");
        },
        { catch: ["rollback"] },
      );
    });
    const engine = await cluster.engine({ workflows: [trip] });
    expect((await cluster.failure(await engine.start(trip, undefined))).cause).toMatchObject({ code: "CRITICAL" });
  });
});

describe.each(TEST_STORES)("code changes during compensation, on the store $name", ({ create }) => {
  it("compensation continues when fixed code no longer fails: the journal records the failure", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    let isUp = false;
    const version = (isFixed: boolean) =>
      workflow("trip", async (ctx) => {
        await ctx.step("a", () => ledger.did("a"), {
          rollback: {
            run: (value) => {
              if (!isUp) throw new Error("down");
              ledger.undid(value);
            },
            retry: { maxAttempts: 10, initialMs: "1 minute", jitter: 0 },
          },
        });
        if (!isFixed) throw new Error("bug");
        await ctx.step("more", () => ledger.did("more"));
      });
    const first = await cluster.engine({ workflows: [version(false)] });
    const run = await first.start(version(false), undefined);
    await cluster.world.settle();
    isUp = true;
    const second = await cluster.takeOver(first, { workflows: [version(true)] });
    await cluster.world.advance("1 minute");
    expect(await cluster.failure(second.run(run.id))).toMatchObject({ code: "RUN_FAILED", cause: { message: "bug" } });
    expect(ledger.lines).toEqual(["+a", "-a"]);
  });

  it("a run is paused when the code no longer has the rollback of a recorded step, until the code has it again", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const version = (rollback: boolean) =>
      workflow("trip", async (ctx) => {
        const undo = { rollback: (value: string) => ledger.undid(value) };
        await ctx.step("a", () => ledger.did("a"), rollback ? undo : {});
        await ctx.sleep("1 minute");
        throw new Error("original");
      });
    const first = await cluster.engine({ workflows: [version(true)] });
    const run = await first.start(version(true), undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [version(false)] });
    await cluster.world.advance("1 minute");
    expect(await second.get(run.id)).toMatchObject({
      status: "paused",
      error: {
        code: "HISTORY_DIVERGED",
        message: expect.stringContaining("at a: the journal has step (record 1), the code has no rollback for it"),
      },
    });
    const third = await cluster.takeOver(second, { workflows: [version(true)] });
    await third.resume(run.id);
    expect(await cluster.failure(third.run(run.id))).toMatchObject({ cause: { message: "original" } });
    expect(ledger.lines).toEqual(["+a", "-a"]);
  });

  it("a run that diverges rolls back nothing", async () => {
    const cluster = await create(onTestFinished);
    const ledger = new Ledger();
    const version = (name: string) =>
      workflow("trip", async (ctx) => {
        await ledger.step(ctx, "a");
        await ctx.step(name, () => 1);
        await ctx.listen("go");
      });
    const first = await cluster.engine({ workflows: [version("b")] });
    const run = await first.start(version("b"), undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [version("c")] });
    await second.run(run.id).send("go", null);
    await cluster.world.settle();
    expect(await second.run(run.id).status()).toBe("paused");
    expect(ledger.lines).toEqual(["+a"]);
  });
});

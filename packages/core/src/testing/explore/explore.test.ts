import nodeCrypto, { randomBytes, randomInt, randomUUID } from "node:crypto";
import timers from "node:timers";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { workflow } from "../../workflow/workflow.ts";
import { effectLog } from "./effects.ts";
import { type ExploreError, explore } from "./explore.ts";
import { type ExploreOptions, subjectOf } from "./explore-options.ts";
import { drawn } from "./plan.ts";
import { runSchedule } from "./run-schedule.ts";
import { trackedAttribution } from "./user-code-location.ts";

const ON_NODE = !("bun" in process.versions || "deno" in process.versions);
const SOME = { schedules: 100 } as const;

async function found(call: Promise<unknown>): Promise<ExploreError> {
  return await call.then(
    () => {
      throw new Error("explore has no findings");
    },
    (error: unknown) => error as ExploreError,
  );
}

describe("explore", () => {
  it("a finding contains a story and a schedule that reproduces it", async () => {
    const effects = effectLog();
    const order = workflow("order", async (ctx) => {
      await ctx.step("look", () => "there");
      await ctx.step("charge", () => effects.happened("charge"));
    });
    const { report } = await found(explore(order, undefined, { effects, ...SOME }));
    expect(report.findings).toHaveLength(1);
    const [finding] = report.findings;
    expect(finding).toMatchObject({ kind: "twice", subject: "charge" });
    expect(finding?.story).toEqual([
      "the run is started",
      "step look runs",
      "step charge runs",
      "  → charge",
      "process 1 crashes before the result of step charge is stored",
      "process 2 takes over",
      "step charge runs again",
      "  → charge",
      "the run is completed",
    ]);
    expect(report.text).toContain('1. twice: "charge" happened more often than expected: step charge ran again');
    const again = await found(explore(order, undefined, { effects, ...schedule(finding?.schedule) }));
    expect(again.report.findings).toEqual(report.findings);
  });

  it("explore executes the same schedules each time", async () => {
    const ran: string[] = [];
    const noisy = workflow("noisy", async (ctx) => {
      await Promise.all(["a", "b"].map((name) => ctx.step(name, () => void ran.push(name))));
      await ctx.sleep("1 day");
    });
    const once = async (): Promise<string> => {
      ran.length = 0;
      await explore(noisy, undefined, { schedules: 60 });
      return ran.join("");
    };
    expect(await once()).toBe(await once());
  });

  it("another seed draws other random schedules", async () => {
    const drawing = async (seed: number): Promise<readonly unknown[]> => {
      const one = workflow("one", async (ctx) => ctx.step("one", () => 1));
      const attribution = trackedAttribution();
      const result = await runSchedule(
        subjectOf(one, undefined, {}),
        { scenario: { kind: "normal" }, faults: [] },
        { attribution },
      );
      attribution.end();
      const schedules = drawn(seed, [{ scenario: { kind: "normal" }, result }]);
      return Array.from({ length: 20 }, () => schedules.next().value);
    };
    expect(await drawing(1)).toEqual(await drawing(1));
    expect(await drawing(2)).not.toEqual(await drawing(1));
  });

  it("a finding contains only the faults that it needs", async () => {
    const effects = effectLog();
    const order = workflow("order", async (ctx) => {
      await ctx.step("look", () => "there");
      await ctx.step("charge", () => effects.happened("charge"));
    });
    const large = {
      scenario: { kind: "normal" },
      faults: [
        { kind: "order", seed: 5 },
        { kind: "error", call: 3, applied: true },
        { kind: "crashInStep", body: 2, ran: true },
      ],
    } as const;
    const { report } = await found(explore(order, undefined, { effects, schedule: large }));
    expect(report.findings[0]?.schedule.faults).toEqual([{ kind: "crashInStep", body: 2, ran: true }]);
  });

  it("explore rejects with the missing message when the workflow waits for a message that is never sent", async () => {
    const waits = workflow("waits", async (ctx) => (await ctx.listen("approve")).value);
    await expect(explore(waits, undefined, SOME)).rejects.toMatchObject({
      code: "RUN_WAITS",
      message: expect.stringContaining('message "approve"'),
    });
    expect((await explore(waits, undefined, { ...SOME, sends: [{ message: "approve", value: 1 }] })).findings).toEqual(
      [],
    );
  });

  it("explore rejects schedules: 0 with OPTION_INVALID", async () => {
    const none = workflow("none", async () => 1);
    await expect(explore(none, undefined, { schedules: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("explore guards Date and Math.random, and restores them at its end", async () => {
    const before = [Date, Date.now, Math.random, globalThis.setTimeout, Error.stackTraceLimit];
    const clock = workflow("clock", async (ctx) => {
      const at = new Date();
      return await ctx.step("step", () => [Date.now(), new Date(), Math.random(), new Date(5), at > new Date(0)]);
    });
    const { report } = await found(explore(clock, undefined, SOME));
    expect(report.findings.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual(["nondeterminism new Date()"]);
    expect([Date, Date.now, Math.random, globalThis.setTimeout, Error.stackTraceLimit]).toEqual(before);
  });

  it.runIf(ON_NODE)(
    "explore guards imports of builtin modules and restores them (Node only: other platforms cannot update imported names)",
    async () => {
      const before = [nodeCrypto.randomUUID, timers.setTimeout, process.hrtime];
      const sources: ReadonlyArray<readonly [string, () => unknown]> = [
        ["randomUUID()", () => randomUUID()],
        ["randomBytes()", () => randomBytes(4)],
        ["randomInt()", () => randomInt(10)],
        ["crypto.getRandomValues()", () => crypto.getRandomValues(new Uint8Array(4))],
        ["process.hrtime.bigint()", () => process.hrtime.bigint()],
        ["process.hrtime()", () => process.hrtime()],
        ["performance.now()", () => performance.now()],
        ["setTimeout()", () => void wait(1)],
      ];
      for (const [name, draw] of sources) {
        const draws = workflow(name, async (ctx) => {
          draw();
          await ctx.step("one", () => 1);
        });
        const { report } = await found(explore(draws, undefined, { schedules: 1 }));
        expect(report.findings.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([`nondeterminism ${name}`]);
      }
      expect([nodeCrypto.randomUUID, timers.setTimeout, process.hrtime]).toEqual(before);
      expect(randomUUID).toBe(nodeCrypto.randomUUID);
    },
  );

  it("step bodies may read clocks, draw random numbers and perform I/O", async () => {
    const free = workflow("free", async (ctx) => {
      const id = await ctx.step("id", () => `${crypto.randomUUID()} ${Math.random()} ${Date.now()} ${randomUUID()}`);
      await ctx.step("wait", () => new Promise((resolve) => setTimeout(resolve, 1)));
      return { id, at: ctx.now() };
    });
    expect((await explore(free, undefined, { schedules: 60 })).findings).toEqual([]);
  });

  it("explore finds an unhandled rejection", async () => {
    const unhandled = workflow("unhandled", async (ctx) => {
      const mail = ctx.step("mail", () => "sent");
      await ctx.step("note", () => "noted");
      void mail.then((text) => text.length);
      await ctx.sleep("1 s");
      return "done";
    });
    const { report } = await found(explore(unhandled, undefined, SOME));
    expect(report.findings.map(({ kind }) => kind)).toContain("swallowed");
  });

  it("explore removes its process listeners, with and without findings", async () => {
    const before = process.listeners("unhandledRejection");
    const one = workflow("one", async (ctx) => ctx.step("one", () => 1));
    await explore(one, undefined, SOME);
    const unhandled = workflow("unhandled", async (ctx) => {
      void ctx.step("mail", () => "sent").then((text) => text.length);
      return await ctx.step("note", () => "noted");
    });
    await found(explore(unhandled, undefined, SOME));
    expect(process.listeners("unhandledRejection")).toEqual(before);
  });

  it("calls of code beside the workflow are no findings", async () => {
    const one = workflow("one", async (ctx) => {
      const id = await ctx.step("one", async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return `${Date.now()} ${Math.random()}`;
      });
      return await ctx.step("two", () => id.length);
    });
    const others: number[] = [];
    const beside = setInterval(() => others.push(Date.now() + Math.random()), 1);
    const report = await explore(one, undefined, { schedules: 40, compare: () => null });
    clearInterval(beside);
    expect(report.findings).toEqual([]);
    expect(others).not.toEqual([]);
  });

  it("explore finds effects after the first await of a step body, and calls in code that only a fault reaches", async () => {
    const effects = effectLog();
    const late = workflow("late", async (ctx) => {
      await ctx.step("charge", async () => {
        await Promise.resolve();
        effects.happened("charge");
      });
    });
    const { report } = await found(explore(late, undefined, { effects, ...SOME }));
    expect(report.findings.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual(["twice charge"]);
    const caught = workflow("caught", async (ctx) => {
      const at = await ctx.step("charge", () => 1).catch(() => Date.now());
      return at > 0;
    });
    const { report: second } = await found(explore(caught, undefined, { ...SOME, mayFail: ["charge"] }));
    expect(second.findings.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual(["nondeterminism Date.now()"]);
  });

  it("a permanent failure is no finding in ctx.tryStep, in ctx.try or in a step listed in mayFail", async () => {
    const tried = workflow("tried", async (ctx) => {
      await ctx.tryStep("mail", () => "sent");
      await ctx.try("attempt", (c) => c.step("copy", () => "sent"));
      await ctx.step("print", () => "printed").catch(() => null);
      return "done";
    });
    expect((await explore(tried, undefined, { ...SOME, mayFail: ["print"] })).findings).toEqual([]);
    const { report } = await found(explore(tried, undefined, SOME));
    expect(report.findings.map(({ kind, subject }) => [kind, subject])).toEqual([["swallowed", "print"]]);
  });

  it("explore compares only the part of the output that compare returns", async () => {
    const fastest = workflow("fastest", async (ctx) => {
      const { winner } = await ctx.race("shops", {
        north: (c) => c.step("ask", () => 1),
        south: (c) => c.step("ask", () => 2),
      });
      return { winner, price: 3 };
    });
    const { report } = await found(explore(fastest, undefined, SOME));
    expect(report.findings.map(({ kind }) => kind)).toEqual(["result"]);
    const compare = ({ price }: { price: number }): number => price;
    expect((await explore(fastest, undefined, { ...SOME, compare })).findings).toEqual([]);
  });

  it("explore runs step stubs, and with allOrNothing finds effects that a failed run leaves", async () => {
    const effects = effectLog();
    const order = workflow("order", async (ctx) => {
      await ctx.step("reserve", () => {
        throw new Error("the network");
      });
      await ctx.step("ship", () => "shipped");
    });
    const options = {
      ...SOME,
      effects,
      steps: {
        reserve: ({ idempotencyKey }: { idempotencyKey: string }) => effects.happened("seat", { key: idempotencyKey }),
      },
    };
    expect((await explore(order, undefined, options)).findings).toEqual([]);
    const { report } = await found(explore(order, undefined, { ...options, allOrNothing: true }));
    expect(report.findings.map(({ kind, subject }) => [kind, subject])).toEqual([["uncompensated", "seat"]]);
  });
});

function schedule(each: ExploreOptions["schedule"]): Pick<ExploreOptions, "schedule"> {
  return each === undefined ? {} : { schedule: each };
}

import type { Workflow } from "pawl";
import { type Effects, type ExploreError, type ExploreOptions, explore, type FindingKind } from "pawl/testing";
import { describe, expect, it } from "vitest";
import * as correct from "./explore/correct.ts";
import * as faulty from "./explore/faulty.ts";

interface Case {
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly options?: ExploreOptions;
}

function caseOf<Input, Output>(workflow: Workflow<Input, Output>, input: Input, options: ExploreOptions = {}): Case {
  return { workflow: workflow as unknown as Workflow, input, options };
}

const shelf: Effects = {
  reset: () => void faulty.stock.set("salt", 10),
  read: () => faulty.stock,
};
const ledger: Effects = {
  reset: () => {
    correct.stock.left.set("salt", 10);
    correct.stock.taken.clear();
  },
  read: () => correct.stock.left,
};

const FAULTY: ReadonlyArray<readonly [Case, FindingKind, RegExp]> = [
  [caseOf(faulty.chargesTwice, 499), "twice", /"charge 499" happened more often than expected: step charge ran again/],
  [caseOf(faulty.newKeyPerAttempt, 499), "twice", /: step charge ran again/],
  [caseOf(faulty.decrementsStock, "salt", { effects: shelf }), "twice", /: step take ran again/],
  [caseOf(faulty.usesSystemClock, undefined), "nondeterminism", /calls Date\.now\(\) at its start/],
  [caseOf(faulty.usesMathRandom, ["ann", "bob"]), "nondeterminism", /calls Math\.random\(\)/],
  [caseOf(faulty.usesRandomUuid, undefined), "nondeterminism", /calls randomUUID\(\) at its start/],
  [caseOf(faulty.keepsStateOutside, "ann"), "nondeterminism", /replay diverged/],
  [caseOf(faulty.dependsOnOrder, ["north", "south", "east"]), "result", /; without faults it is completed with/],
  [caseOf(faulty.doesNotAwaitMail, "ann"), "unawaited", /the result of ctx\.step\("mail"\) is never awaited/],
  [
    caseOf(faulty.ignoresFailedCharge, 499),
    "swallowed",
    /step charge fails permanently, but the run completes with the same result/,
  ],
  [
    caseOf(faulty.hasNoHotelRollback, "Oslo"),
    "uncompensated",
    /"hotel in Oslo" is not undone after step insurance fails/,
  ],
  [caseOf(faulty.rollsBackWithoutKey, 499), "twice", /undone too often.*: the rollback of step charge ran again/],
  [caseOf(faulty.auditsOutsideStep, "ann"), "outside", /effect "ann came" happens outside every step/],
];

const READY = { message: "ready", value: "yes", after: "1 day" } as const;

const CORRECT: readonly Case[] = [
  caseOf(correct.chargesOnce, 499),
  caseOf(correct.keyFromStep, 499),
  caseOf(correct.decrementsStockOnce, "salt", { effects: ledger }),
  caseOf(correct.usesCtxNow, Number.MAX_SAFE_INTEGER, { sends: [READY] }),
  caseOf(correct.usesCtxRandom, ["ann", "bob"]),
  caseOf(correct.keepsStateInLoop, "ann"),
  caseOf(correct.dependsOnNoOrder, ["north", "south", "east"]),
  caseOf(correct.awaitsMail, "ann"),
  caseOf(correct.failsWithFailedCharge, 499),
  caseOf(correct.rollsBackAll, "Oslo"),
  caseOf(correct.rollsBackWithKey, 499, { sends: [{ message: "approve", value: true, after: "2 days" }] }),
  caseOf(correct.auditsInStep, "ann", {
    workflows: [correct.billing as unknown as Workflow],
    sends: [{ event: "table", value: 4, after: "5 minutes" }],
  }),
];

describe("faulty workflows", () => {
  for (const [{ workflow, input, options }, kind, message] of FAULTY) {
    it(`explore finds the fault of "${workflow.name}": ${kind}`, async () => {
      const found = await explore(workflow, input, { effects: faulty.effects, schedules: 250, ...options }).then(
        () => null,
        (error: unknown) => error as ExploreError,
      );
      expect(found?.code).toBe("WORKFLOW_FAULTY");
      const kinds = new Set(found?.report.findings.map((finding) => finding.kind));
      expect([...kinds]).toEqual([kind]);
      expect(found?.message).toMatch(message);
      for (const { schedule } of found?.report.findings ?? []) expect(schedule.faults.length).toBeLessThan(2);
    });
  }
});

/** `EXPLORE_SCHEDULES=5000` executes more schedules. */
const schedules = Number(process.env.EXPLORE_SCHEDULES ?? 400);

describe("correct workflows", () => {
  for (const { workflow, input, options } of CORRECT) {
    it(`explore finds nothing in "${workflow.name}"`, async () => {
      const report = await explore(workflow, input, { effects: correct.effects, schedules, ...options });
      expect(report.findings).toEqual([]);
      expect(report.schedules).toBeGreaterThanOrEqual(schedules);
    });
  }
});

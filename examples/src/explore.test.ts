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

function of<Input, Output>(workflow: Workflow<Input, Output>, input: Input, options: ExploreOptions = {}): Case {
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
  [of(faulty.chargesTwice, 499), "twice", /"charge 499" happened once too often, because step charge ran again/],
  [of(faulty.freshKey, 499), "twice", /because step charge ran again/],
  [of(faulty.countsDown, "salt", { effects: shelf }), "twice", /because step take ran again/],
  [of(faulty.byTheClock, undefined), "nondeterminism", /calls Date\.now\(\) at its beginning/],
  [of(faulty.byLot, ["ann", "bob"]), "nondeterminism", /calls Math\.random\(\)/],
  [of(faulty.namesItself, undefined), "nondeterminism", /calls randomUUID\(\) at its beginning/],
  [of(faulty.remembers, "ann"), "nondeterminism", /a replay went another way/],
  [
    of(faulty.inOrderOfAnswer, ["north", "south", "east"]),
    "result",
    /and without what went wrong it is completed with/,
  ],
  [of(faulty.forgetsTheMail, "ann"), "unawaited", /nobody waits for ctx\.step\("mail"\)/],
  [of(faulty.swallows, 499), "swallowed", /step charge fails for good, and the run is completed as if it had not/],
  [of(faulty.keepsTheHotel, "Oslo"), "uncompensated", /"hotel in Oslo" is left when step insurance fails/],
  [of(faulty.refundsTwice, 499), "twice", /taken back once too often.*because the rollback of step charge ran again/],
  [of(faulty.auditsInReplay, "ann"), "outside", /"ann came" happens outside of every step/],
];

const READY = { message: "ready", value: "yes", after: "1 day" } as const;

const CORRECT: readonly Case[] = [
  of(correct.chargesOnce, 499),
  of(correct.keptKey, 499),
  of(correct.takesOnce, "salt", { effects: ledger }),
  of(correct.byItsOwnTime, Number.MAX_SAFE_INTEGER, { sends: [READY] }),
  of(correct.byKeptLot, ["ann", "bob"]),
  of(correct.countsVisits, "ann"),
  of(correct.inOrderOfAsking, ["north", "south", "east"]),
  of(correct.sendsTheMail, "ann"),
  of(correct.minds, 499),
  of(correct.givesAllBack, "Oslo"),
  of(correct.refundsOnce, 499, { sends: [{ message: "approve", value: true, after: "2 days" }] }),
  of(correct.audits, "ann", {
    workflows: [correct.billing as unknown as Workflow],
    sends: [{ event: "table", value: 4, after: "5 minutes" }],
  }),
];

describe("faulty workflows", () => {
  for (const [{ workflow, input, options }, kind, says] of FAULTY) {
    it(`explore finds the fault of "${workflow.name}": ${kind}`, async () => {
      const found = await explore(workflow, input, { effects: faulty.effects, schedules: 250, ...options }).then(
        () => null,
        (error: unknown) => error as ExploreError,
      );
      expect(found?.code).toBe("WORKFLOW_FAULTY");
      const kinds = new Set(found?.report.findings.map((finding) => finding.kind));
      expect([...kinds]).toEqual([kind]);
      expect(found?.message).toMatch(says);
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

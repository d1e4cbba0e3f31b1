import { expect, it } from "vitest";
import { NO_POLICY, type RunPolicy } from "../model/policy.ts";
import { Limits, type Usage } from "./limits.ts";

const RUN = { id: "r", startedAt: 1_000, createdAt: 0 };

function limits(policy: Partial<RunPolicy>, warned = {}) {
  const created = new Limits({ ...NO_POLICY, ...policy }, RUN, warned);
  return {
    created,
    check: (usage: Partial<Usage>) => created.check({ now: 1_000, suspendedSince: null, records: 0, ...usage }),
  };
}

it("a run without limits has no next check", () => {
  expect(limits({}).check({ now: 1e12, suspendedSince: 0, records: 1e9 })).toEqual({
    error: null,
    warnings: [],
    nextAt: null,
  });
});

it("a duration counts from the run's start and is checked at 50 %, 80 % and 100 %", () => {
  const { check, created } = limits({ maxRunDuration: 100 });
  expect(check({ now: 1_049 })).toEqual({ error: null, warnings: [], nextAt: 1_050 });
  expect(check({ now: 1_050 })).toEqual({
    error: null,
    warnings: [{ limit: "maxRunDuration", percent: 50 }],
    nextAt: 1_080,
  });
  created.markGiven({ limit: "maxRunDuration", percent: 50 });
  expect(check({ now: 1_060 })).toEqual({ error: null, warnings: [], nextAt: 1_080 });
  expect(check({ now: 1_080 })).toMatchObject({ warnings: [{ percent: 80 }], nextAt: 1_100 });
  created.markGiven({ limit: "maxRunDuration", percent: 80 });
  expect(check({ now: 1_099 })).toEqual({ error: null, warnings: [], nextAt: 1_100 });
  expect(check({ now: 1_100 })).toMatchObject({ error: { code: "RUN_DURATION_EXCEEDED" }, warnings: [], nextAt: null });
});

it("only the highest due warning is given; a skipped one is never given later", () => {
  const { check, created } = limits({ maxRunDuration: 100 });
  expect(check({ now: 1_090 }).warnings).toEqual([{ limit: "maxRunDuration", percent: 80 }]);
  created.markGiven({ limit: "maxRunDuration", percent: 80 });
  expect(check({ now: 1_091 }).warnings).toEqual([]);
  expect(created.warned).toEqual({ maxRunDuration: [80] });
});

it("a suspension counts from the last progress, and only while the run is suspended", () => {
  const { check } = limits({ maxSuspendDuration: 100 }, { maxSuspendDuration: [50] });
  expect(check({ now: 9_000 })).toEqual({ error: null, warnings: [], nextAt: null });
  expect(check({ now: 9_000, suspendedSince: 8_990 })).toEqual({ error: null, warnings: [], nextAt: 9_070 });
  expect(check({ now: 9_000, suspendedSince: 8_900 }).error).toMatchObject({ code: "SUSPEND_DURATION_EXCEEDED" });
});

it("a run fails with more records than maxJournalRecords; warnings do not count", () => {
  const { check, created } = limits({ maxJournalRecords: 4 });
  expect(check({ records: 1 }).warnings).toEqual([]);
  expect(check({ records: 2 }).warnings).toEqual([{ limit: "maxJournalRecords", percent: 50 }]);
  created.markGiven({ limit: "maxJournalRecords", percent: 50 });
  expect(check({ records: 1 + 3 }).warnings).toEqual([]);
  expect(check({ records: 1 + 4 })).toMatchObject({ error: null, warnings: [{ percent: 80 }] });
  expect(check({ records: 1 + 5 }).error).toMatchObject({ code: "JOURNAL_RECORDS_EXCEEDED" });
});

it("the earliest of several limits is checked next", () => {
  const { check } = limits({ maxRunDuration: 1_000, maxSuspendDuration: 100 });
  expect(check({ now: 1_010, suspendedSince: 1_005 }).nextAt).toBe(1_055);
});

it("warnings in a snapshot do not count as records, and count once if replay repeats them", () => {
  const { check, created } = limits({ maxJournalRecords: 4 }, { maxJournalRecords: [50, 80] });
  created.markGiven({ limit: "maxJournalRecords", percent: 80 });
  expect(check({ records: 2 + 4 }).error).toBeNull();
  expect(check({ records: 2 + 5 }).error).toMatchObject({ code: "JOURNAL_RECORDS_EXCEEDED" });
});

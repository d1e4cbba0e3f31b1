import { expect, it } from "vitest";
import { NO_POLICY, type RunPolicy } from "../model/policy.ts";
import { Limits, type Usage } from "./limits.ts";

const RUN = { id: "r", startedAt: 1_000, createdAt: 0 };

function limits(policy: Partial<RunPolicy>, warned = {}) {
  const made = new Limits({ ...NO_POLICY, ...policy }, RUN, warned);
  return {
    made,
    look: (usage: Partial<Usage>) => made.check({ now: 1_000, suspendedSince: null, records: 0, ...usage }),
  };
}

it("without limits there is nothing to look for", () => {
  expect(limits({}).look({ now: 1e12, suspendedSince: 0, records: 1e9 })).toEqual({
    error: null,
    warnings: [],
    nextAt: null,
  });
});

it("a duration counts from the begin; the next look is at 50 %, at 80 % and at the end", () => {
  const { look, made } = limits({ maxRunDuration: 100 });
  expect(look({ now: 1_049 })).toEqual({ error: null, warnings: [], nextAt: 1_050 });
  expect(look({ now: 1_050 })).toEqual({
    error: null,
    warnings: [{ limit: "maxRunDuration", percent: 50 }],
    nextAt: 1_080,
  });
  made.markGiven({ limit: "maxRunDuration", percent: 50 });
  expect(look({ now: 1_060 })).toEqual({ error: null, warnings: [], nextAt: 1_080 });
  expect(look({ now: 1_080 })).toMatchObject({ warnings: [{ percent: 80 }], nextAt: 1_100 });
  made.markGiven({ limit: "maxRunDuration", percent: 80 });
  expect(look({ now: 1_099 })).toEqual({ error: null, warnings: [], nextAt: 1_100 });
  expect(look({ now: 1_100 })).toMatchObject({ error: { code: "RUN_DURATION_EXCEEDED" }, warnings: [], nextAt: null });
});

it("a warning that was missed is passed over for the one that is due, and never comes later", () => {
  const { look, made } = limits({ maxRunDuration: 100 });
  expect(look({ now: 1_090 }).warnings).toEqual([{ limit: "maxRunDuration", percent: 80 }]);
  made.markGiven({ limit: "maxRunDuration", percent: 80 });
  expect(look({ now: 1_091 }).warnings).toEqual([]);
  expect(made.warned).toEqual({ maxRunDuration: [80] });
});

it("a suspension counts only while the run rests, from when it stands still", () => {
  const { look } = limits({ maxSuspendDuration: 100 }, { maxSuspendDuration: [50] });
  expect(look({ now: 9_000 })).toEqual({ error: null, warnings: [], nextAt: null });
  expect(look({ now: 9_000, suspendedSince: 8_990 })).toEqual({ error: null, warnings: [], nextAt: 9_070 });
  expect(look({ now: 9_000, suspendedSince: 8_900 }).error).toMatchObject({ code: "SUSPEND_DURATION_EXCEEDED" });
});

it("as many records as the limit says may be there, and no more; warnings do not count", () => {
  const { look, made } = limits({ maxJournalRecords: 4 });
  expect(look({ records: 1 }).warnings).toEqual([]);
  expect(look({ records: 2 }).warnings).toEqual([{ limit: "maxJournalRecords", percent: 50 }]);
  made.markGiven({ limit: "maxJournalRecords", percent: 50 });
  expect(look({ records: 1 + 3 }).warnings).toEqual([]);
  expect(look({ records: 1 + 4 })).toMatchObject({ error: null, warnings: [{ percent: 80 }] });
  expect(look({ records: 1 + 5 }).error).toMatchObject({ code: "JOURNAL_RECORDS_EXCEEDED" });
});

it("the earliest of several limits is the next to be looked at", () => {
  const { look } = limits({ maxRunDuration: 1_000, maxSuspendDuration: 100 });
  expect(look({ now: 1_010, suspendedSince: 1_005 }).nextAt).toBe(1_055);
});

it("warnings that a snapshot knows of don't count as records, each of them, and not twice when they are met again", () => {
  const { look, made } = limits({ maxJournalRecords: 4 }, { maxJournalRecords: [50, 80] });
  made.markGiven({ limit: "maxJournalRecords", percent: 80 });
  expect(look({ records: 2 + 4 }).error).toBeNull();
  expect(look({ records: 2 + 5 }).error).toMatchObject({ code: "JOURNAL_RECORDS_EXCEEDED" });
});

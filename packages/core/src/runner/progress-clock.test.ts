import { expect, it } from "vitest";
import type { JournalRecord, RecordKind } from "../model/record.ts";
import type { Wait } from "../model/run.ts";
import { waitSinceProgress } from "./limits.ts";

const WAIT: Wait = {
  messages: ["go"],
  topics: [],
  children: false,
  until: null,
  since: 5,
  seq: 3,
  open: [{ location: "go", kind: "listen", since: 5, until: null, arms: [{ kind: "message", name: "go" }] }],
  openCount: 1,
};

function record(seq: number, kind: RecordKind): JournalRecord {
  return { seq, kind, location: "x", outcome: "ok", payload: null, attempts: 1, startedAt: 0, at: 0, detail: null };
}

it("a stored wait is valid until a record shows progress", () => {
  expect(waitSinceProgress({ wait: WAIT }, [record(3, "step")])).toBe(WAIT);
  expect(waitSinceProgress({ wait: WAIT }, [record(4, "warning"), record(5, "operator")])).toBe(WAIT);
  expect(waitSinceProgress({ wait: WAIT }, [record(3, "step"), record(4, "listen")])).toBeNull();
});

it("a stored wait without a seq is valid", () => {
  const { seq: _, ...old } = WAIT;
  expect(waitSinceProgress({ wait: old }, [record(9, "step")])).toBe(old);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { JournalRecord } from "../../model/record.ts";
import { Journal } from "./memory-run.ts";

const record = fc.record<JournalRecord>({
  seq: fc.constant(0),
  location: fc.string(),
  kind: fc.constantFrom("step", "retry", "sleep"),
  outcome: fc.constantFrom("ok", "failed", "timedOut"),
  payload: fc.option(fc.string()),
  attempts: fc.nat(2),
  startedAt: fc.nat(),
  at: fc.maxSafeNat(),
  detail: fc.option(fc.constantFrom("rollback", "")),
});

test("a memory run returns its records, whole or in parts, before and after records are dropped", () => {
  fc.assert(
    fc.property(
      fc.array(record),
      fc.nat(30),
      fc.nat(30),
      fc.nat(30),
      fc.boolean(),
      (drafts, from, to, limit, trims) => {
        const journal = new Journal();
        let kept = drafts.map((draft, index) => ({ ...draft, seq: index + 1 }));
        for (const each of kept) journal.push(each);
        for (let round = 0; round < 2; round++) {
          expect(journal.after(0)).toEqual(kept);
          expect(journal.length).toBe(kept.length);
          expect(journal.newestSeq).toBe(kept.at(-1)?.seq ?? null);
          expect(journal.after(from, limit)).toEqual(kept.filter(({ seq }) => seq > from).slice(0, limit));
          expect(journal.after(journal.afterSeqOfLast(limit))).toEqual(limit === 0 ? [] : kept.slice(-limit));
          if (trims) journal.trim(from, to);
          else journal.keep((seq) => seq < from || seq > to);
          kept = kept.filter(({ seq }) => seq < from || seq > to);
        }
        journal.push({ ...drafts[0], seq: 99 } as JournalRecord);
        expect(journal.newestSeq).toBe(99);
      },
    ),
  );
});

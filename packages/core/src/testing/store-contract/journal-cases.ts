import { append, record, records, suspended } from "./builders.ts";
import type { Case } from "./trial.ts";

export const journalCases: readonly Case[] = [
  {
    name: "an append deletes the trimmed records, including its own, and the next record follows the newest seq",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 4) }));
      const trim = [
        { from: 2, to: 3 },
        { from: 5, to: 5 },
      ];
      await t.applied(append("r", { records: records(5, 6), trim }));
      t.expect(await t.seqs("r")).toEqual([1, 4, 6]);
      const next = append("r", { records: records(7, 7) });
      await t.applied(next);
      t.expect(await t.answer(next)).toEqual({ kind: "applied", post: null, again: true });
      t.expect(await t.seqs("r")).toEqual([1, 4, 6, 7]);
      t.expect(await t.loadedSeqs("r", 4)).toEqual([6, 7]);
    },
  },
  {
    name: "a resent append is recognized even if it trimmed its own first record",
    run: async (t) => {
      await t.owned("r");
      const transition = append("r", { records: records(1, 3), trim: [{ from: 1, to: 2 }] });
      await t.applied(transition);
      t.expect(await t.answer(transition)).toEqual({ kind: "applied", post: null, again: true });
      t.expect(await t.seqs("r")).toEqual([3]);
    },
  },
  {
    name: "records are read by index from both ends, and `acts` contains exactly the operator records",
    run: async (t) => {
      await t.owned("r");
      const written = Array.from({ length: 5_000 }, (_, index) =>
        record(index + 1, index % 1_999 === 7 ? { kind: "operator", location: "~" } : {}),
      );
      await t.applied(append("r", { records: written }));
      for (const afterSeq of [0, 3_000, 4_990]) {
        const loaded = await t.store.load("r", afterSeq);
        const read = [...(loaded?.records ?? [])];
        t.expect(read).toEqual(written.slice(afterSeq));
        for (const index of [0, 5, read.length - 1, -1, -read.length, read.length, -read.length - 1])
          t.expect(loaded?.records.at(index)).toEqual(read.at(index));
        const operatorRecords = read.filter(({ kind }) => kind === "operator");
        t.expect(loaded?.operatorRecords ?? operatorRecords).toEqual(operatorRecords);
      }
    },
  },
  {
    name: "a refused append trims nothing",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 3) }));
      const trim = [{ from: 1, to: 2 }];
      await t.commit(append("r", { epoch: 9, records: records(4, 4), trim }));
      await t.commit(append("r", { records: records(4, 4), trim, inbox: 5 }));
      t.expect(await t.seqs("r")).toEqual([1, 2, 3]);
      await t.applied(append("r", { records: records(4, 4), trim, state: suspended() }));
      t.expect(await t.seqs("r")).toEqual([3, 4]);
    },
  },
];

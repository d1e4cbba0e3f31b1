import type { Answer, InTransaction } from "../../model/transition.ts";
import { append, create, message, record, suspended } from "./builders.ts";
import type { Case } from "./trial.ts";

/** True if the store does not run user code in its transactions; then the case is skipped. */
function isUnsupported(answer: Answer): boolean {
  if (answer.kind !== "refused" || answer.reason !== "threw") return false;
  return (answer.error as { readonly code?: unknown } | null)?.code === "TX_UNSUPPORTED";
}

/** User code that counts its calls. */
function counting(then: (tx: unknown) => void = () => undefined): { code: InTransaction; readonly calls: number } {
  let calls = 0;
  return {
    code: (tx) => {
      calls += 1;
      then(tx);
    },
    get calls() {
      return calls;
    },
  };
}

export const transactionCases: readonly Case[] = [
  {
    name: "the user code of a transition is called once, with a tx, and can complete the record",
    run: async (t) => {
      await t.owned("r");
      const completed = { ...record(1, { kind: "transaction" }) };
      const types: unknown[] = [];
      const { code } = counting((tx) => {
        types.push(typeof tx);
        completed.payload = '"from the code"';
      });
      const answer = await t.answer(append("r", { records: [completed], transaction: code }));
      if (isUnsupported(answer)) return;
      t.expect(answer).toEqual({ kind: "applied", post: null, again: false });
      t.expect(types).toEqual(["object"]);
      const [stored] = await t.store.reader.journal("r", { afterSeq: 0, limit: 1 });
      t.expect(stored).toMatchObject({ seq: 1, kind: "transaction", payload: '"from the code"' });
    },
  },
  {
    name: "the user code of a refused or resent transition is not called",
    run: async (t) => {
      await t.owned("r");
      const first = counting();
      const one = append("r", { records: [record(1)], transaction: first.code });
      const answer = await t.answer(one);
      if (isUnsupported(answer)) return;
      const second = counting();
      t.expect(await t.answer({ ...one, transaction: second.code })).toEqual({
        kind: "applied",
        post: null,
        again: true,
      });
      t.expect(await t.answer(append("r", { epoch: 7, records: [record(2)], transaction: second.code }))).toMatchObject(
        {
          reason: "fenced",
        },
      );
      t.expect(await t.answer(append("none", { records: [record(1)], transaction: second.code }))).toEqual({
        kind: "refused",
        reason: "notFound",
      });
      await t.applied(append("r", { turn: 1, state: { status: "cancelled", outcome: null, at: 0 } }));
      t.expect(await t.answer(append("r", { records: [record(2)], transaction: second.code }))).toMatchObject({
        reason: "terminal",
      });
      t.expect([first.calls, second.calls]).toEqual([1, 0]);
    },
  },
  {
    name: "a transition whose user code throws is refused without effects, and other transitions of the batch are applied",
    run: async (t) => {
      await t.owned("a", "b");
      const error = new Error("no");
      const { code } = counting(() => {
        throw error;
      });
      const before = await t.snapshot("b");
      const { answers } = await t.commit(
        append("a", { records: [record(1)] }),
        append("b", { records: [record(1)], posts: [message("a", "m")], state: suspended(), transaction: code }),
        create("c"),
      );
      const [first, second, third] = answers;
      if (second !== undefined && isUnsupported(second)) return;
      t.expect([first?.kind, third?.kind]).toEqual(["applied", "applied"]);
      t.expect(second).toEqual({ kind: "refused", reason: "threw", error });
      t.expect(await t.snapshot("b")).toEqual(before);
      t.expect([await t.seqs("a"), await t.inboxIds("a")]).toEqual([[1], []]);
    },
  },
  {
    name: "a transition refused because its user code threw can be resent, and calls the code again",
    run: async (t) => {
      await t.owned("r");
      const counted = counting(() => {
        if (counted.calls === 1) throw new Error("no");
      });
      const one = append("r", { records: [record(1)], transaction: counted.code });
      if (isUnsupported(await t.answer(one))) return;
      await t.applied(one);
      t.expect([counted.calls, await t.seqs("r")]).toEqual([2, [1]]);
    },
  },
];

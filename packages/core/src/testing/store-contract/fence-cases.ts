import { append, completed, control, create, document, message, ORDER, record, suspended, T0 } from "./builders.ts";
import type { Case } from "./trial.ts";

export const fenceCases: readonly Case[] = [
  {
    name: "a transition with a past or a future epoch changes nothing",
    run: async (t) => {
      await t.owned("r", "other");
      await t.applied(append("r", { state: { status: "released", at: T0 } }));
      await t.claim("v");
      const before = await t.snapshot("r");
      const fenced = { kind: "refused", reason: "fenced", epoch: 2 };
      for (const epoch of [1, 3]) {
        t.expect(await t.answer(append("r", { epoch, records: [record(1)] }))).toEqual(fenced);
        t.expect(await t.answer(append("r", { epoch, records: [record(1)], state: completed() }))).toEqual(fenced);
        t.expect(await t.answer(append("r", { epoch, posts: [message("other", "m")] }))).toEqual(fenced);
        t.expect(await t.answer(append("r", { epoch, documents: [{ put: document("k", "d") }] }))).toEqual(fenced);
        t.expect(await t.answer(control("r", { epoch }))).toEqual(fenced);
      }
      t.expect(await t.snapshot("r")).toEqual(before);
      t.expect(await t.inboxIds("other")).toEqual([]);
      t.expect(await t.store.reader.document("k", "d")).toBe(null);
    },
  },
  {
    name: "a control raises the epoch and removes the owner of the run",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], state: suspended() }));
      await t.applied(control("r", { state: { status: "paused", reason: '"held"' } }));
      const paused = { status: "paused", epoch: 2, turn: 0, owner: null, wakeAt: null, wait: null, outcome: '"held"' };
      t.expect(await t.run("r")).toMatchObject(paused);
      const late = await t.answer(append("r", { turn: 2, records: [record(2)], state: completed() }));
      t.expect(late).toEqual({ kind: "refused", reason: "fenced", epoch: 2 });
    },
  },
  {
    name: "records before a change of owner in the same batch are kept, and records after it are fenced",
    run: async (t) => {
      await t.owned("r", "other");
      const { answers } = await t.commit(
        append("r", { records: [record(1)] }),
        control("r", { state: { status: "paused", reason: null } }),
        append("r", { records: [record(2)] }),
        append("other", { records: [record(1)] }),
      );
      t.expect(answers).toMatchObject([
        { kind: "applied" },
        { kind: "applied" },
        { kind: "refused", reason: "fenced", epoch: 2 },
        { kind: "applied" },
      ]);
      t.expect([await t.seqs("r"), await t.seqs("other")]).toEqual([[1], [1]]);
    },
  },
  {
    name: "a paused run is claimed again only after it is resumed",
    run: async (t) => {
      await t.owned("r");
      await t.applied(control("r", { state: { status: "paused", reason: null } }));
      t.expect(await t.claimIds("v")).toEqual([]);
      const resumed = await t.applied(
        control("r", { epoch: 2, controlId: "resume", state: { status: "resumed", at: T0 } }),
      );
      t.expect(resumed.wakes).toMatchObject([{ runId: "r", owner: null }]);
      t.expect(await t.run("r")).toMatchObject({ status: "running", outcome: null, wakeAt: T0, claims: 0, epoch: 3 });
      t.expect(await t.claimIds("v")).toEqual(["r"]);
    },
  },
  {
    name: "the first of a cancel and a completion is applied, and the second is refused",
    run: async (t) => {
      await t.owned("a", "b");
      const [cancelled, late] = (await t.commit(control("a"), append("a", { state: completed() }))).answers;
      t.expect([cancelled, late]).toEqual([
        { kind: "applied", post: null, again: false },
        { kind: "refused", reason: "fenced", epoch: 2 },
      ]);
      const [done, tooLate] = (await t.commit(append("b", { state: completed() }), control("b"))).answers;
      t.expect([done, tooLate]).toEqual([
        { kind: "applied", post: null, again: false },
        { kind: "refused", reason: "terminal", status: "completed" },
      ]);
      t.expect([(await t.run("a")).status, (await t.run("b")).status]).toEqual(["cancelled", "completed"]);
    },
  },
  {
    name: "a terminal state removes the owner, the wait and the deadline of a run",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"], messages: ["m"], until: T0 + 5 });
      await t.applied(append("r", { turn: 2, state: { status: "failed", outcome: '"boom"', at: T0 + 1 } }));
      t.expect(await t.run("r")).toMatchObject({
        status: "failed",
        owner: null,
        wakeAt: null,
        wait: null,
        endedAt: T0 + 1,
        outcome: '"boom"',
      });
      t.expect(await t.store.nextDueAt("w", ORDER)).toBe(null);
      t.expect((await t.applied(create("x"))).answers.length).toBe(1);
    },
  },
  {
    name: "a released run keeps its epoch until the next claim raises it",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"] });
      const commit = await t.applied(append("r", { turn: 2, state: { status: "released", at: T0 } }));
      t.expect(commit.wakes).toMatchObject([{ runId: "r", owner: null }]);
      t.expect(await t.run("r")).toMatchObject({ status: "running", owner: null, epoch: 1, wakeAt: T0, wait: null });
      const [claimed] = await t.claim("v");
      t.expect(claimed).toMatchObject({ id: "r", owner: "v", epoch: 2, turn: 0, status: "running", wakeAt: null });
    },
  },
];

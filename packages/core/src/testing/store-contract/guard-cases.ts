import {
  append,
  cancel,
  childEnd,
  completed,
  control,
  create,
  document,
  message,
  newRun,
  record,
  records,
  suspended,
  T0,
  wait,
} from "./builders.ts";
import type { Case } from "./trial.ts";

export const guardCases: readonly Case[] = [
  {
    name: "a created run is pending with epoch 1 and due at its start time",
    run: async (t) => {
      await t.applied(create("r", { tags: ["a", "b"], startAt: T0 + 5 }));
      t.expect(await t.run("r")).toEqual({
        id: "r",
        workflow: "order",
        version: 1,
        input: '{"cents":499}',
        tags: ["a", "b"],
        parent: null,
        createdAt: T0,
        startId: "start-r",
        owner: null,
        status: "pending",
        epoch: 1,
        turn: 0,
        wakeAt: T0 + 5,
        wait: null,
        inboxLast: 0,
        baseSeq: 0,
        generation: 0,
        claims: 0,
        claimSeq: 0,
        startedAt: null,
        endedAt: null,
        undo: "none",
        outcome: null,
      });
    },
  },
  {
    name: "a run keeps the limits of its start",
    run: async (t) => {
      const limits = { deadlineAt: T0 + 9, expireAt: null };
      const parent = { runId: "r", location: "child", onClose: "cancel" } as const;
      await t.applied(create("r", { limits }), create("c", { parent, limits: { deadlineAt: null, expireAt: T0 + 7 } }));
      t.expect(await t.run("r")).toMatchObject({ parent: null, limits });
      t.expect(await t.run("c")).toMatchObject({ parent, limits: { deadlineAt: null, expireAt: T0 + 7 } });
      const claimed = new Map((await t.claim("w")).map((run) => [run.id, run.limits]));
      t.expect(claimed.get("r")).toEqual(limits);
    },
  },
  {
    name: "a run created with an owner is running and is not claimable",
    run: async (t) => {
      await t.owned("r");
      t.expect(await t.run("r")).toMatchObject({
        status: "running",
        owner: "w",
        startedAt: T0,
        wakeAt: null,
        epoch: 1,
      });
      t.expect(await t.claimIds("v")).toEqual([]);
    },
  },
  {
    name: "a create of an existing id is refused with the status and epoch of the existing run",
    run: async (t) => {
      await t.owned("r");
      const refused = { kind: "refused", reason: "exists", status: "running", epoch: 1 };
      t.expect(await t.answer(create("r", { startId: "another" }))).toEqual(refused);
      t.expect((await t.run("r")).startId).toBe("start-r");
    },
  },
  {
    name: "an append to a missing run and a control of a missing run are refused",
    run: async (t) => {
      const refused = { kind: "refused", reason: "notFound" };
      t.expect(await t.answer(append("r", { records: [record(1)] }))).toEqual(refused);
      t.expect(await t.answer(append("r", { state: completed() }))).toEqual(refused);
      t.expect(await t.answer(control("r"))).toEqual(refused);
    },
  },
  {
    name: "a terminal run refuses records, states and controls",
    run: async (t) => {
      await t.completed("r");
      const before = await t.snapshot("r");
      const refused = { kind: "refused", reason: "terminal", status: "completed" };
      t.expect(await t.answer(append("r", { records: [record(1)] }))).toEqual(refused);
      t.expect(await t.answer(append("r", { turn: 2, state: completed() }))).toEqual(refused);
      t.expect(await t.answer(append("r", { posts: [message("r", "m")] }))).toEqual(refused);
      t.expect(await t.answer(control("r"))).toEqual(refused);
      t.expect(await t.snapshot("r")).toEqual(before);
    },
  },
  {
    name: "an append decided on an outdated inbox is refused and changes nothing",
    run: async (t) => {
      await t.owned("r");
      await t.sendUnawaited("r", "m1");
      const before = await t.snapshot("r");
      const refused = { kind: "refused", reason: "inbox", inboxLast: 1 };
      t.expect(await t.answer(append("r", { records: [record(1)], inbox: 0 }))).toEqual(refused);
      t.expect(await t.answer(append("r", { state: suspended(), inbox: 0 }))).toEqual(refused);
      t.expect(await t.snapshot("r")).toEqual(before);
      await t.applied(append("r", { records: [record(1)], inbox: 1 }));
    },
  },
  {
    name: "an append with notBefore is refused until the store's clock reaches that time",
    run: async (t) => {
      await t.owned("r");
      const timedOut = append("r", { records: [record(1, { outcome: "timedOut" })], notBefore: T0 + 10 });
      t.world.advance(9);
      t.expect(await t.answer(timedOut)).toEqual({ kind: "refused", reason: "early", now: T0 + 9 });
      t.expect(await t.seqs("r")).toEqual([]);
      t.world.advance(1);
      await t.applied(timedOut);
    },
  },
  {
    name: "a refused transition does not affect the other transitions of its batch",
    run: async (t) => {
      await t.owned("a", "b");
      const { answers } = await t.commit(
        append("a", { records: [record(1)] }),
        append("a", { epoch: 7, records: [record(2)], posts: [message("b", "lost")] }),
        append("none", { records: [record(1)] }),
        append("b", { records: [record(1)] }),
      );
      t.expect(answers.map((answer) => (answer.kind === "refused" ? answer.reason : answer.kind))).toEqual([
        "applied",
        "fenced",
        "notFound",
        "applied",
      ]);
      t.expect([await t.seqs("a"), await t.seqs("b"), await t.inboxIds("b")]).toEqual([[1], [1], []]);
    },
  },
  {
    name: "each transition of a batch is decided on the effects of the earlier ones",
    run: async (t) => {
      const { answers } = await t.commit(
        append("r", { records: [record(1)] }),
        create("r", { owner: "w" }),
        append("r", { records: [record(1)] }),
        append("r", { records: [record(2)], state: completed() }),
        append("r", { turn: 2, records: [record(3)], state: completed() }),
      );
      t.expect(answers.map((answer) => (answer.kind === "refused" ? answer.reason : answer.kind))).toEqual([
        "notFound",
        "applied",
        "applied",
        "applied",
        "terminal",
      ]);
      t.expect(await t.seqs("r")).toEqual([1, 2]);
    },
  },
  {
    name: "records of a run are accepted in the batch whose post starts the run",
    run: async (t) => {
      await t.owned("r");
      const start = { kind: "start" as const, run: newRun("child") };
      await t.applied(append("r", { records: [record(1)], posts: [start] }), append("child", { records: [record(1)] }));
      t.expect([await t.seqs("r"), await t.seqs("child")]).toEqual([[1], [1]]);
    },
  },
  {
    name: "an empty batch returns no answers",
    run: async (t) => {
      t.expect(await t.commit()).toEqual({ answers: [], wakes: [] });
    },
  },
  {
    name: "a batch of 1,000 records of one run and records of 1,000 other runs is stored completely",
    run: async (t) => {
      const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
      await t.owned("long", ...ids);
      await t.applied(
        append("long", { records: records(1, 1000) }),
        ...ids.map((id) => append(id, { records: [record(1)] })),
      );
      t.expect((await t.seqs("long")).length).toBe(1000);
      t.expect(await t.store.reader.count({ status: ["running"] })).toBe(1001);
      for (const id of ["r0", "r500", "r999"]) t.expect(await t.seqs(id)).toEqual([1]);
    },
  },
  {
    name: "a running state without a wait clears the deadline of the run",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { state: { status: "running", wait: wait({ until: T0 + 9 }), inboxSeen: 0 } }));
      t.expect(await t.run("r")).toMatchObject({ status: "running", owner: "w", wakeAt: T0 + 9, turn: 1 });
      await t.applied(append("r", { turn: 2, state: { status: "running", wait: null, inboxSeen: 0 } }));
      t.expect(await t.run("r")).toMatchObject({ status: "running", owner: "w", wakeAt: null, wait: null, turn: 2 });
    },
  },
  {
    name: "posts to a terminal or missing run are answered without an error",
    run: async (t) => {
      await t.completed("r");
      t.expect(await t.posted(message("none", "m"))).toEqual({ kind: "targetNotFound" });
      t.expect(await t.posted(cancel("none"))).toEqual({ kind: "targetNotFound" });
      t.expect(await t.posted(message("r", "m"))).toEqual({ kind: "targetTerminated", status: "completed" });
      t.expect(await t.posted(cancel("r"))).toEqual({ kind: "targetTerminated", status: "completed" });
      await t.owned("p");
      await t.applied(
        append("p", { posts: [childEnd("r", "c"), childEnd("none", "c")], documents: [{ put: document("k", "d") }] }),
      );
      t.expect(await t.inboxIds("r")).toEqual([]);
    },
  },
];

import { append, completed, control, create, message, ORDER, post, record, suspended, T0, wait } from "./builders.ts";
import type { Case } from "./trial.ts";

/** The state set by a cancel of a run that has rollbacks. */
const stop = { status: "compensating", reason: '"why"', at: T0 } as const;
const running = { status: "running", wait: null, inboxSeen: 0 } as const;

export const undoCases: readonly Case[] = [
  {
    name: "an append sets the undo state of its run, and a resent append does not set it again",
    run: async (t) => {
      await t.owned("r");
      const first = append("r", { records: [record(1)], undo: "some" });
      await t.applied(first);
      t.expect(await t.run("r")).toMatchObject({ undo: "some", status: "running", turn: 0 });
      await t.applied(append("r", { records: [record(2)], undo: "none" }));
      t.expect((await t.store.commit([first])).answers).toMatchObject([{ kind: "applied", again: true }]);
      t.expect(await t.run("r")).toMatchObject({ undo: "none" });
    },
  },
  {
    name: "a run that undoes is compensating while it executes and while it waits, and is in ownedRunning only while it executes",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], undo: "underWay", state: running }));
      t.expect(await t.run("r")).toMatchObject({ undo: "underWay", status: "compensating", owner: "w" });
      t.expect(await t.store.ownedRunning("w")).toEqual([{ id: "r", epoch: 1 }]);
      await t.applied(append("r", { turn: 2, state: suspended({ until: T0 + 9 }) }));
      t.expect(await t.run("r")).toMatchObject({ status: "compensating", wakeAt: T0 + 9, claims: 0 });
      t.expect(await t.store.ownedRunning("w")).toEqual([]);
      t.expect(await t.store.nextDueAt("w", [])).toBe(T0 + 9);
      t.expect(await t.store.reader.count({ status: ["compensating"] })).toBe(1);
      t.expect(await t.store.reader.count({ status: ["running", "suspended"] })).toBe(0);
      await t.applied(append("r", { turn: 3, state: completed() }));
      t.expect(await t.run("r")).toMatchObject({ status: "completed", undo: "underWay" });
    },
  },
  {
    name: "a compensating run of a retired worker is due at once if it was executing, at its deadline if it was waiting, and stays compensating when claimed",
    run: async (t) => {
      await t.owned("executes", "waits");
      const compensating = { records: [record(1)], undo: "underWay" } as const;
      await t.applied(append("executes", { ...compensating, state: running }));
      await t.applied(append("waits", { ...compensating, state: suspended({ until: T0 + 60_000 }) }));
      await t.store.retire("w");
      t.expect(await t.run("executes")).toMatchObject({ owner: null, wakeAt: T0, status: "compensating" });
      t.expect(await t.run("waits")).toMatchObject({ owner: null, wakeAt: T0 + 60_000, status: "compensating" });
      t.expect(await t.claimIds("v")).toEqual(["executes"]);
      t.world.advance(60_000);
      t.expect(await t.claimIds("v")).toEqual(["waits"]);
      t.expect(await t.run("waits")).toMatchObject({ owner: "v", status: "compensating", wait: null, wakeAt: null });
      const owned = (await t.store.ownedRunning("v")).map(({ id }) => id);
      t.expect(owned.sort()).toEqual(["executes", "waits"]);
    },
  },
  {
    name: "a compensating run that is paused and resumed is compensating again",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], undo: "underWay", state: running }));
      await t.applied(control("r", { controlId: "p", state: { status: "paused", reason: null } }));
      t.expect(await t.run("r")).toMatchObject({ status: "paused", undo: "underWay" });
      await t.applied(control("r", { controlId: "q", epoch: 2, state: { status: "resumed", at: T0 } }));
      t.expect(await t.run("r")).toMatchObject({ status: "compensating", undo: "underWay", wakeAt: T0 });
    },
  },
  {
    name: "a cancel that must undo removes the owner, appends a compensate record and makes the run claimable",
    run: async (t) => {
      await t.waiting("r", { messages: ["approve"], topics: ["news"], until: T0 + 9 });
      await t.applied(append("r", { records: [record(1)], undo: "some" }));
      const cancel = control("r", { state: stop, undo: "some" });
      const commit = await t.applied(cancel);
      t.expect(commit.wakes).toMatchObject([{ runId: "r", owner: null }]);
      t.expect((await t.store.commit([cancel])).answers).toMatchObject([{ kind: "applied", again: true }]);
      const row = {
        status: "compensating",
        undo: "underWay",
        owner: null,
        epoch: 2,
        wakeAt: T0,
        wait: null,
        outcome: null,
      };
      t.expect(await t.run("r")).toMatchObject(row);
      t.expect((await t.store.load("r"))?.records).toEqual([
        record(1),
        {
          ...record(2),
          location: "~compensate",
          kind: "compensate",
          outcome: "failed",
          payload: '"why"',
          attempts: 0,
          detail: "cancelled",
        },
      ]);
      t.expect((await t.store.commit([append("r", { records: [record(2)] })])).answers).toMatchObject([
        { reason: "fenced" },
      ]);
      await t.applied(post(message("r", "m")));
      t.expect(await t.claimIds("v")).toEqual(["r"]);
      t.expect(await t.run("r")).toMatchObject({ status: "compensating", owner: "v", epoch: 3 });
    },
  },
  {
    name: "a failure that must undo appends its end, and the run keeps the given claims until it makes progress",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], undo: "some" }));
      await t.applied(control("r", { state: { ...stop, end: "failed", claims: 3 }, undo: "some" }));
      t.expect((await t.store.load("r"))?.records.at(-1)).toMatchObject({ kind: "compensate", detail: "failed" });
      t.expect(await t.run("r")).toMatchObject({ claims: 3, claimSeq: 2 });
      const suspects = { claims: 2, held: 0, max: null, idle: true };
      const claim = async () => await t.store.claim({ worker: "v", limit: 9, workflows: ORDER, suspects });
      t.expect(await claim()).toMatchObject([{ id: "r", status: "compensating", isSuspect: true, claims: 4 }]);
      await t.applied(append("r", { epoch: 3, records: [record(3)] }));
      await t.store.retire("v");
      t.expect(await claim()).toMatchObject([{ id: "r", isSuspect: false, claims: 1 }]);
    },
  },
  {
    name: "a control with `undo` is refused if the run's undo state differs",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], undo: "some" }));
      const [refused] = (await t.store.commit([control("r", { undo: "none" })])).answers;
      t.expect(refused).toEqual({ kind: "refused", reason: "fenced", epoch: 1 });
      t.expect(await t.run("r")).toMatchObject({ status: "running", epoch: 1 });
      await t.applied(control("r", { undo: null }));
      t.expect(await t.run("r")).toMatchObject({ status: "cancelled" });
    },
  },
  {
    name: "a continued run has nothing to undo",
    run: async (t) => {
      await t.applied(create("r", { owner: "w" }));
      await t.applied(append("r", { records: [record(1)], undo: "some" }));
      const state = { status: "continued", workflow: "order", version: 1, input: null, baseSeq: 1, at: T0 } as const;
      await t.applied(append("r", { turn: 1, state }));
      t.expect(await t.run("r")).toMatchObject({ undo: "none", generation: 1, status: "running" });
      await t.applied(append("r", { turn: 2, state: { ...running, wait: wait() } }));
      t.expect(await t.run("r")).toMatchObject({ undo: "none" });
    },
  },
];

import { append, completed, create, message, ORDER, record, suspended, T0, workflows } from "./builders.ts";
import type { Case } from "./trial.ts";

export const workerCases: readonly Case[] = [
  {
    name: "a worker's first heartbeat registers it, the next ones keep it alive",
    run: async (t) => {
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: false, freed: 0 });
      t.world.advance(99);
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: true, freed: 0 });
      t.expect(await t.store.reader.workers()).toEqual([{ id: "w", expiresAt: T0 + 199, workflows: [] }]);
    },
  },
  {
    name: "runs of a dead worker are free: those at work at once, those that rest when they are due",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("busy");
      await t.waiting("resting", { until: T0 + 500, messages: ["approve"] });
      t.world.advance(100);
      t.expect(await t.store.heartbeat("v", 100)).toMatchObject({ alive: false, freed: 2 });
      t.expect(await t.run("busy")).toMatchObject({
        owner: null,
        epoch: 2,
        turn: 0,
        wakeAt: T0 + 100,
        status: "running",
      });
      t.expect(await t.run("resting")).toMatchObject({ owner: null, epoch: 2, wakeAt: T0 + 500, status: "suspended" });
      t.expect(await t.claimIds("v")).toEqual(["busy"]);
      t.expect((await t.commit({ kind: "post", post: message("resting", "m") })).wakes).toMatchObject([
        { runId: "resting", owner: null },
      ]);
      t.expect(await t.claimIds("v")).toEqual(["resting"]);
    },
  },
  {
    name: "a live worker's runs are never freed",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(99);
      t.expect((await t.store.heartbeat("v", 100)).freed).toBe(0);
      t.expect((await t.run("r")).owner).toBe("w");
    },
  },
  {
    name: "a worker that comes back late is told so, and its own runs are free",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(100);
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: false, freed: 1 });
      t.expect(await t.run("r")).toMatchObject({ owner: null, epoch: 2 });
      const late = await t.answer(append("r", { records: [record(1)] }));
      t.expect(late).toEqual({ kind: "refused", reason: "fenced", epoch: 2 });
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: true, freed: 0 });
    },
  },
  {
    name: "who owns runs without having said that it lives is taken for dead, also when the clock goes back",
    run: async (t) => {
      await t.owned("created");
      await t.applied(create("claimed"));
      await t.claim("x");
      t.world.advance(-1000);
      t.expect(await t.store.heartbeat("v", 100)).toMatchObject({ alive: false, freed: 2 });
      t.expect((await t.claimIds("v")).sort()).toEqual(["claimed", "created"]);
    },
  },
  {
    name: "a heartbeat tells what its worker holds, when something is due, and when another worker's time is over",
    run: async (t) => {
      const alone = { alive: false, freed: 0, owned: [], nextDueAt: null, nextExpiryAt: null };
      t.expect(await t.store.heartbeat("w", 100, ORDER)).toEqual(alone);
      await t.owned("busy");
      await t.waiting("resting", { until: T0 + 70 });
      await t.applied(create("later", { startAt: T0 + 60 }));
      t.expect(await t.store.heartbeat("v", 50)).toEqual({ ...alone, nextExpiryAt: T0 + 100 });
      const seen = { alive: true, freed: 0, owned: [{ id: "busy", epoch: 1 }], nextExpiryAt: T0 + 50 };
      t.expect(await t.store.heartbeat("w", 100, ORDER)).toEqual({ ...seen, nextDueAt: T0 + 60 });
      t.expect(await t.store.heartbeat("w", 100)).toEqual({ ...seen, nextDueAt: T0 + 70 });
    },
  },
  {
    name: "a heartbeat tells what is there after it: runs that it freed are due, and their worker is gone",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(100);
      const seen = { alive: false, freed: 1, owned: [], nextDueAt: T0 + 100, nextExpiryAt: null };
      t.expect(await t.store.heartbeat("v", 100, ORDER)).toEqual(seen);
      t.world.advance(100);
      t.expect(await t.store.heartbeat("v", 100, ORDER)).toEqual({ ...seen, freed: 0 });
    },
  },
  {
    name: "a worker is listed with the workflows it last named",
    run: async (t) => {
      const named = async () => (await t.store.reader.workers()).map((worker) => worker.workflows);
      await t.store.heartbeat("w", 100, workflows("odd \u{1F600}\0 name", "ship"));
      t.expect(await named()).toEqual([workflows("odd \u{1F600}\0 name", "ship")]);
      await t.store.heartbeat("w", 100);
      t.expect(await named()).toEqual([workflows("odd \u{1F600}\0 name", "ship")]);
      await t.store.heartbeat("w", 100, [...ORDER, { name: "order", version: 2 }]);
      t.expect(await named()).toEqual([[...ORDER, { name: "order", version: 2 }]]);
    },
  },
  {
    name: "a worker that others have reaped is told so",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(100);
      await t.store.heartbeat("v", 100);
      t.expect(await t.store.reader.workers()).toEqual([{ id: "v", expiresAt: T0 + 200, workflows: [] }]);
      t.expect(await t.claimIds("v")).toEqual(["r"]);
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: false, freed: 0 });
      t.expect((await t.run("r")).owner).toBe("v");
    },
  },
  {
    name: "reaping is bounded: a dead worker stays known until its last run is free",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      const ids = Array.from({ length: 1500 }, (_, index) => `r${index}`);
      await t.owned(...ids);
      t.world.advance(100);
      t.expect(await t.store.heartbeat("v", 1000)).toMatchObject({ freed: 1000, nextExpiryAt: T0 + 100 });
      t.expect((await t.store.reader.workers()).map((worker) => worker.id)).toEqual(["v", "w"]);
      t.expect((await t.store.heartbeat("v", 1000)).freed).toBe(500);
      t.expect((await t.store.reader.workers()).map((worker) => worker.id)).toEqual(["v"]);
      t.expect((await t.claim("v", 2000)).length).toBe(1500);
    },
  },
  {
    name: "reaping is bounded over all dead workers together",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.store.heartbeat("x", 100);
      await t.owned(...Array.from({ length: 1000 }, (_, index) => `r${index}`));
      await t.applied(create("last", { owner: "x" }));
      t.world.advance(100);
      t.expect((await t.store.heartbeat("v", 1000)).freed).toBe(1000);
      t.expect((await t.store.heartbeat("v", 1000)).freed).toBe(1);
      t.expect((await t.store.reader.workers()).map((worker) => worker.id)).toEqual(["v"]);
    },
  },
  {
    name: "a worker that retires leaves its runs free at once",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("busy", "ended");
      await t.waiting("resting", { until: T0 + 500 });
      await t.applied(append("ended", { state: completed() }));
      await t.store.retire("w");
      t.expect(await t.store.reader.workers()).toEqual([]);
      t.expect(await t.claimIds("v")).toEqual(["busy"]);
      t.expect(await t.run("resting")).toMatchObject({ owner: null, epoch: 2, wakeAt: T0 + 500 });
      t.expect(await t.run("ended")).toMatchObject({ owner: null, epoch: 1 });
    },
  },
  {
    name: "a heartbeat without an epoch harms no newer claim: what was reaped and claimed by another stays theirs",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.applied(create("r"));
      await t.claim("w");
      t.world.advance(100);
      await t.store.heartbeat("v", 1000);
      await t.claim("v");
      await t.applied(append("r", { epoch: 4, state: suspended() }));
      await t.store.heartbeat("w", 100);
      await t.store.retire("w");
      t.expect(await t.run("r")).toMatchObject({ owner: "v", epoch: 4, status: "suspended" });
    },
  },
];

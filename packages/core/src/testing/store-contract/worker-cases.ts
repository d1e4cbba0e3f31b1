import { append, completed, create, message, ORDER, record, suspended, T0, wait, workflows } from "./builders.ts";
import type { Case } from "./trial.ts";

export const workerCases: readonly Case[] = [
  {
    name: "the first heartbeat registers a worker, and later ones renew its lease",
    run: async (t) => {
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: false, freed: 0 });
      t.world.advance(99);
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: true, freed: 0 });
      t.expect(await t.store.reader.workers()).toEqual([{ id: "w", expiresAt: T0 + 199, workflows: [] }]);
    },
  },
  {
    name: "running runs of an expired worker are claimable at once, suspended runs when they are due",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("running");
      await t.waiting("suspended", { until: T0 + 500, messages: ["approve"] });
      t.world.advance(100);
      t.expect(await t.store.heartbeat("v", 100)).toMatchObject({ alive: false, freed: 2 });
      t.expect(await t.run("running")).toMatchObject({
        owner: null,
        epoch: 1,
        wakeAt: T0 + 100,
        status: "running",
      });
      t.expect(await t.run("suspended")).toMatchObject({
        owner: null,
        epoch: 1,
        wakeAt: T0 + 500,
        status: "suspended",
      });
      t.expect(await t.claimIds("v")).toEqual(["running"]);
      t.expect((await t.commit({ kind: "post", post: message("suspended", "m") })).wakes).toMatchObject([
        { runId: "suspended", owner: null },
      ]);
      t.expect(await t.claimIds("v")).toEqual(["suspended"]);
    },
  },
  {
    name: "a heartbeat frees no run of a worker whose lease has not expired",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(99);
      t.expect((await t.store.heartbeat("v", 100)).freed).toBe(0);
      t.expect((await t.run("r")).owner).toBe("w");
    },
  },
  {
    name: "a heartbeat of a worker whose lease expired returns alive: false and keeps its runs",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(100);
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({
        alive: false,
        freed: 0,
        owned: [{ id: "r", epoch: 1 }],
      });
      t.expect(await t.run("r")).toMatchObject({ owner: "w", epoch: 1 });
      t.expect(await t.answer(append("r", { records: [record(1)] }))).toMatchObject({ kind: "applied" });
      t.expect(await t.store.heartbeat("w", 100)).toMatchObject({ alive: true, freed: 0 });
    },
  },
  {
    name: "a heartbeat gives a worker back its freed runs in the same epoch, unless another worker claimed them",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("busy", "claimed", "ended", "gone");
      await t.waiting("resting", { until: T0 + 500 });
      t.world.advance(100);
      await t.store.heartbeat("v", 1000);
      await t.applied(append("ended", { state: completed() }), append("gone", { state: suspended() }));
      t.expect(await t.claimIds("v", 2)).toEqual(["busy", "claimed"]);
      await t.applied(append("busy", { epoch: 2, turn: 1, state: { status: "released", at: T0 + 100 } }));
      await t.store.retire("v");
      t.expect(await t.claimIds("x", 1)).toEqual(["busy"]);
      await t.applied(create("freed", { owner: "w" }));
      t.world.advance(100);
      await t.store.heartbeat("x", 1000);
      t.expect(await t.run("freed")).toMatchObject({ owner: null, epoch: 1, wakeAt: T0 + 200 });
      const lapsed = ["freed", "busy", "claimed", "ended", "gone", "resting", "unknown"].map((id) => ({
        id,
        epoch: 1,
        isBlameless: false,
      }));
      const { alive, owned } = await t.store.heartbeat("w", 100, ORDER, lapsed);
      t.expect({ alive, owned }).toEqual({ alive: false, owned: [{ id: "freed", epoch: 1 }] });
      t.expect(await t.run("freed")).toMatchObject({ owner: "w", epoch: 1, wakeAt: null, status: "running" });
      t.expect(await t.run("busy")).toMatchObject({ owner: "x" });
      t.expect(await t.run("claimed")).toMatchObject({ owner: null, epoch: 2 });
      t.expect(await t.run("ended")).toMatchObject({ owner: null, status: "completed" });
      t.expect(await t.run("gone")).toMatchObject({ owner: null, status: "suspended" });
      t.expect(await t.run("resting")).toMatchObject({ owner: null, wakeAt: T0 + 500, status: "suspended" });
    },
  },
  {
    name: "the last owner of a freed run appends to it until another worker claims it",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r");
      t.world.advance(100);
      await t.store.heartbeat("v", 100);
      t.expect(await t.answer(append("r", { records: [record(1)] }))).toMatchObject({ kind: "applied", again: false });
      t.expect(await t.claimIds("v")).toEqual(["r"]);
      const late = await t.answer(append("r", { records: [record(2)] }));
      t.expect(late).toEqual({ kind: "refused", reason: "fenced", epoch: 2 });
    },
  },
  {
    name: "a freed run stays claimable when its last owner appends a wait beside its work",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("r", "s");
      t.world.advance(100);
      await t.store.heartbeat("v", 100);
      const waits = {
        status: "running",
        wait: wait({ until: T0 + 500, messages: ["approve"] }),
        inboxSeen: 0,
      } as const;
      await t.applied(append("r", { state: waits }), append("s", { state: suspended({ until: T0 + 500 }) }));
      t.expect(await t.run("r")).toMatchObject({ owner: null, status: "running", wakeAt: T0 + 100 });
      t.expect(await t.run("s")).toMatchObject({ owner: null, status: "suspended", wakeAt: T0 + 500 });
      t.expect(await t.claimIds("v")).toEqual(["r"]);
    },
  },
  {
    name: "a claim after a lapse does not count against a blameless run",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("blameless", "blamed", "taken");
      t.world.advance(100);
      await t.store.heartbeat("v", 1000);
      t.expect((await t.claim("v")).map(({ claims }) => claims)).toEqual([1, 1, 1]);
      const claims = async () =>
        await Promise.all(["blameless", "blamed", "taken"].map(async (id) => (await t.run(id)).claims));
      await t.store.heartbeat("w", 100, ORDER, [
        { id: "blameless", epoch: 1, isBlameless: true },
        { id: "blamed", epoch: 1, isBlameless: false },
        { id: "taken", epoch: 2, isBlameless: true },
      ]);
      t.expect(await claims()).toEqual([0, 1, 1]);
      t.expect(await t.run("blameless")).toMatchObject({ owner: "v", epoch: 2 });
      await t.store.heartbeat("w", 100, ORDER, [{ id: "blameless", epoch: 1, isBlameless: true }]);
      t.expect(await claims()).toEqual([0, 1, 1]);
    },
  },
  {
    name: "runs of an owner that never sent a heartbeat are freed, even if the clock goes back",
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
    name: "a heartbeat returns the runs that its worker owns, the next due time, and the next lease expiry of other workers",
    run: async (t) => {
      const empty = { alive: false, freed: 0, owned: [], nextDueAt: null, nextExpiryAt: null };
      t.expect(await t.store.heartbeat("w", 100, ORDER)).toEqual(empty);
      await t.owned("running");
      await t.waiting("suspended", { until: T0 + 70 });
      await t.applied(create("later", { startAt: T0 + 60 }));
      t.expect(await t.store.heartbeat("v", 50)).toEqual({ ...empty, nextExpiryAt: T0 + 100 });
      const seen = { alive: true, freed: 0, owned: [{ id: "running", epoch: 1 }], nextExpiryAt: T0 + 50 };
      t.expect(await t.store.heartbeat("w", 100, ORDER)).toEqual({ ...seen, nextDueAt: T0 + 60 });
      t.expect(await t.store.heartbeat("w", 100)).toEqual({ ...seen, nextDueAt: T0 + 70 });
    },
  },
  {
    name: "a heartbeat that frees runs returns them as due and their worker as removed",
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
    name: "a worker is listed with the workflows of its last heartbeat that passed any",
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
    name: "a heartbeat of a worker that another worker removed returns alive: false",
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
    name: "a heartbeat frees at most 1,000 runs, and an expired worker is listed until its last run is freed",
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
    name: "a heartbeat frees at most 1,000 runs of all expired workers together",
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
    name: "a retired worker's running runs are claimable at once",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.owned("running", "ended");
      await t.waiting("suspended", { until: T0 + 500 });
      await t.applied(append("ended", { state: completed() }));
      await t.store.retire("w");
      t.expect(await t.store.reader.workers()).toEqual([]);
      t.expect(await t.claimIds("v")).toEqual(["running"]);
      t.expect(await t.run("suspended")).toMatchObject({ owner: null, epoch: 1, wakeAt: T0 + 500 });
      t.expect(await t.run("ended")).toMatchObject({ owner: null, epoch: 1 });
    },
  },
  {
    name: "a late heartbeat or retire of a worker does not affect runs that another worker has claimed since",
    run: async (t) => {
      await t.store.heartbeat("w", 100);
      await t.applied(create("r"));
      await t.claim("w");
      t.world.advance(100);
      await t.store.heartbeat("v", 1000);
      await t.claim("v");
      await t.applied(append("r", { epoch: 3, state: suspended() }));
      await t.store.heartbeat("w", 100);
      await t.store.retire("w");
      t.expect(await t.run("r")).toMatchObject({ owner: "v", epoch: 3, status: "suspended" });
    },
  },
];

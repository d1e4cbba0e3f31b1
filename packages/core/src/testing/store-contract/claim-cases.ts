import type { SuspectLimit } from "../../rules/tables.ts";
import {
  append,
  completed,
  create,
  event,
  message,
  ORDER,
  post,
  record,
  suspended,
  T0,
  workflows,
} from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

/** Creates runs that lost their worker twice without progress. */
async function suspects(t: Trial, ...ids: readonly string[]): Promise<void> {
  await t.applied(...ids.map((id) => create(id)));
  for (let claims = 0; claims < 2; claims += 1) {
    await group(t, { held: 1, max: 0 });
    await t.store.retire("v");
  }
}

/** Claims as an idle worker does. Returns the id of each run, whether it is a suspect, and its claims. */
async function group(
  t: Trial,
  {
    limit = 10,
    claims = 2,
    held = 0,
    max = null,
    idle = max === null,
  }: Partial<SuspectLimit> & { readonly limit?: number } = {},
): Promise<readonly (readonly [string, boolean, number])[]> {
  const limits = { claims, held, max, idle };
  const runs = await t.store.claim({ worker: "v", limit, workflows: workflows("order"), suspects: limits });
  return runs.map((run) => [run.id, run.isSuspect, run.claims]);
}

export const claimCases: readonly Case[] = [
  {
    name: "a claim returns the runs that are due longest first, at most `limit` of them",
    run: async (t) => {
      await t.applied(
        create("c", { startAt: T0 - 1 }),
        create("a", { startAt: T0 - 3 }),
        create("b", { startAt: T0 - 2 }),
      );
      t.expect(await t.claimIds("v", 2)).toEqual(["a", "b"]);
      t.expect(await t.claimIds("v", 2)).toEqual(["c"]);
      t.expect(await t.claimIds("v", 2)).toEqual([]);
    },
  },
  {
    name: "a claim with newestFirst returns the runs that became due last first",
    run: async (t) => {
      await t.applied(
        create("c", { startAt: T0 - 1 }),
        create("a", { startAt: T0 - 3 }),
        create("other", { workflow: "other", startAt: T0 - 2 }),
        create("b", { startAt: T0 - 2 }),
        create("later", { startAt: T0 + 1 }),
      );
      const newest = async (limit: number) => {
        const request = { worker: "v", limit, workflows: workflows("order", "other"), newestFirst: true };
        return (await t.store.claim(request)).map(({ id }) => id);
      };
      t.expect(await newest(1)).toEqual(["c"]);
      t.expect(await newest(2)).toEqual(["b", "other"]);
      t.expect(await newest(2)).toEqual(["a"]);
      t.expect(await newest(2)).toEqual([]);
    },
  },
  {
    name: "a claim sets the owner, the next epoch, turn 0 and the start time of a run",
    run: async (t) => {
      await t.applied(create("r"));
      t.world.advance(5);
      const [run] = await t.claim("v");
      const claimed = {
        owner: "v",
        epoch: 2,
        turn: 0,
        status: "running",
        startedAt: T0 + 5,
        wakeAt: null,
        claims: 1,
        claimSeq: 0,
      };
      t.expect(run).toMatchObject(claimed);
      t.expect(run).toEqual({ ...(await t.run("r")), isSuspect: false });
    },
  },
  {
    name: "a run is not claimed before it is due",
    run: async (t) => {
      await t.applied(create("r", { startAt: T0 + 10 }));
      t.world.advance(9);
      t.expect(await t.claimIds("v")).toEqual([]);
      t.world.advance(1);
      t.expect(await t.claimIds("v")).toEqual(["r"]);
    },
  },
  {
    name: "a claim returns only runs of the requested workflows",
    run: async (t) => {
      await t.applied(create("a", { workflow: "x" }), create("b", { workflow: "y" }), create("c", { workflow: "z" }));
      t.expect((await t.claimIds("v", 10, workflows("y", "z", "unknown"))).sort()).toEqual(["b", "c"]);
      t.expect(await t.claimIds("v", 10, [])).toEqual([]);
      t.expect(await t.claimIds("v", 10, workflows("x", "x"))).toEqual(["a"]);
    },
  },
  {
    name: "a claim returns only runs of the requested versions, and leaves the version of each unchanged",
    run: async (t) => {
      const order = (version: number) => ({ name: "order", version });
      await t.applied(create("one"), create("two", { version: 2 }), create("ten", { version: 10, startAt: T0 - 1 }));
      t.expect(await t.claimIds("v", 10, [order(3)])).toEqual([]);
      t.expect(await t.store.nextDueAt("v", [order(3)])).toBe(null);
      t.expect(await t.store.nextDueAt("v", [order(1), order(10)])).toBe(T0 - 1);
      t.expect(await t.claimIds("v", 10, [order(1), order(10)])).toEqual(["ten", "one"]);
      t.expect(await t.claimIds("v", 10, [order(1), order(10)])).toEqual([]);
      const [two] = await t.claim("v", 10, [order(2), order(2)]);
      t.expect(two).toMatchObject({ id: "two", workflow: "order", version: 2 });
    },
  },
  {
    name: "a workflow name that contains a version and a colon is not confused with another name and version",
    run: async (t) => {
      await t.applied(create("a", { workflow: "1:x", version: 2 }), create("b", { workflow: "x", version: 21 }));
      t.expect(await t.claimIds("v", 10, [{ name: "x", version: 2 }])).toEqual([]);
      t.expect(await t.claimIds("v", 10, [{ name: "1:x", version: 2 }])).toEqual(["a"]);
      t.expect(await t.claimIds("v", 10, [{ name: "x", version: 21 }])).toEqual(["b"]);
    },
  },
  {
    name: "a run that continued in another version is claimed only for that version",
    run: async (t) => {
      await t.owned("r");
      const fresh = { workflow: "order", version: 2, input: null, baseSeq: 0, at: T0 };
      await t.applied(append("r", { state: { status: "continued", ...fresh } }));
      await t.applied(append("r", { turn: 2, state: { status: "released", at: T0 } }));
      t.expect(await t.claimIds("v")).toEqual([]);
      t.expect(await t.claimIds("v", 10, [{ name: "order", version: 2 }])).toEqual(["r"]);
    },
  },
  {
    name: "20 concurrent claimers get each of 200 runs exactly once",
    run: async (t) => {
      const ids = Array.from({ length: 200 }, (_, index) => `r${String(index).padStart(3, "0")}`);
      await t.applied(...ids.map((id) => create(id)));
      const claimers = Array.from({ length: 20 }, (_, index) => t.claimIds(`v${index}`, 15));
      const claimed = (await Promise.all(claimers)).flat();
      t.expect(claimed.sort()).toEqual(ids);
    },
  },
  {
    name: "a run with an owner is never claimed, even if it is due",
    run: async (t) => {
      await t.waiting("r", { until: T0 + 1, messages: ["approve"] });
      t.world.advance(100);
      await t.posted(message("r", "m"));
      t.expect(await t.claimIds("v")).toEqual([]);
      t.expect(await t.due("w", 10)).toEqual(["r"]);
    },
  },
  {
    name: "claims without progress are counted, and a new record resets the count",
    run: async (t) => {
      await t.applied(create("r"));
      const claims: [number, number][] = [];
      for (const progress of [false, false, true, false]) {
        const [run] = await t.claim("v");
        if (run === undefined) throw new Error("the claim returned no run");
        claims.push([run.claims, run.claimSeq]);
        if (progress) await t.applied(append("r", { epoch: run.epoch, records: [record(1), record(2)] }));
        await t.store.heartbeat("v", 10);
        t.world.advance(10);
        await t.store.heartbeat("u", 10);
      }
      t.expect(claims).toEqual([
        [1, 0],
        [2, 0],
        [3, 0],
        [1, 2],
      ]);
    },
  },
  {
    name: "a claim without suspects returns other runs only, and skipped suspects hide none of them",
    run: async (t) => {
      await suspects(t, "a", "b", "c");
      t.world.advance(1);
      await t.applied(create("fresh", { startAt: T0 + 1 }));
      t.expect(await group(t, { limit: 1, held: 1, max: 0 })).toEqual([["fresh", false, 1]]);
      t.expect(await group(t, { claims: 1, held: 1, max: 0 })).toEqual([]);
      t.expect(await group(t, { claims: 3, max: null })).toEqual([
        ["a", false, 3],
        ["b", false, 3],
        ["c", false, 3],
      ]);
    },
  },
  {
    name: "a group is half of the suspects that are due, and a claim in a group of several does not count",
    run: async (t) => {
      await suspects(t, "a", "b", "c", "d", "e");
      t.expect(await group(t)).toEqual([
        ["a", true, 2],
        ["b", true, 2],
      ]);
      t.expect(await group(t, { held: 2, max: 1 })).toEqual([["c", true, 2]]);
      t.expect(await group(t)).toEqual([["d", true, 3]]);
    },
  },
  {
    name: "a group is at most as large as the limit of the claim, and holds other runs too",
    run: async (t) => {
      await suspects(t, "a", "b", "c", "d", "e", "f");
      t.world.advance(1);
      await t.applied(create("fresh", { startAt: T0 + 1 }));
      t.expect(await group(t, { limit: 2 })).toEqual([
        ["a", true, 2],
        ["b", true, 2],
      ]);
      t.expect(await group(t, { limit: 5 })).toEqual([
        ["c", true, 2],
        ["d", true, 2],
        ["fresh", false, 1],
      ]);
    },
  },
  {
    name: "a suspect that lost its worker when it was alone is claimed alone",
    run: async (t) => {
      await suspects(t, "killer");
      t.expect(await group(t)).toEqual([["killer", true, 3]]);
      await t.store.retire("v");
      t.world.advance(1);
      await suspects(t, "a", "b", "c", "d");
      t.expect(await group(t)).toEqual([["killer", true, 4]]);
      t.expect(await group(t)).toEqual([
        ["a", true, 2],
        ["b", true, 2],
      ]);
      t.world.advance(1);
      await t.store.retire("v");
      t.expect(await group(t, { held: 1, max: 1 })).toEqual([["c", true, 2]]);
      t.expect(await group(t, { held: 1, max: 9 })).toEqual([
        ["d", true, 2],
        ["a", true, 2],
        ["b", true, 2],
      ]);
    },
  },
  {
    name: "a claim of a suspect that lost its worker when it was alone returns no other run",
    run: async (t) => {
      await suspects(t, "killer");
      await group(t);
      await t.applied(create("lost"));
      await t.claim("v");
      await t.store.retire("v");
      t.world.advance(1);
      await t.applied(create("fresh", { startAt: T0 + 1 }), create("oldest", { startAt: T0 - 1 }));
      t.expect(await group(t)).toEqual([["killer", true, 4]]);
      t.expect(await group(t, { claims: 1, held: 1, max: 0 })).toEqual([
        ["oldest", false, 1],
        ["fresh", false, 1],
      ]);
      t.expect(await group(t, { held: 1, max: 0 })).toEqual([["lost", false, 2]]);
    },
  },
  {
    name: "a suspect that lost its worker when it was alone is skipped by a worker that is not idle, and hides no other run",
    run: async (t) => {
      await suspects(t, "killer");
      await group(t);
      await t.store.retire("v");
      await suspects(t, "a", "b");
      t.world.advance(1);
      await t.applied(create("fresh", { startAt: T0 + 1 }));
      t.expect(await group(t, { idle: false, limit: 1 })).toEqual([["a", true, 3]]);
      t.expect(await group(t, { held: 1, max: 1, idle: true })).toEqual([
        ["b", true, 2],
        ["fresh", false, 1],
      ]);
      t.expect(await group(t, { idle: false })).toEqual([]);
      t.expect(await group(t, { held: 1, max: 0, idle: true })).toEqual([]);
      t.expect(await group(t)).toEqual([["killer", true, 4]]);
    },
  },
  {
    name: "a run that made progress since it was claimed is no suspect when its worker is lost",
    run: async (t) => {
      await suspects(t, "a", "b");
      const [run] = await t.claim("v", 1);
      await t.applied(append("a", { epoch: run?.epoch ?? 0, records: [record(1)] }));
      await t.store.retire("v");
      t.expect((await t.run("a")).claims).toBe(0);
      t.expect(await group(t, { held: 1, max: 0 })).toEqual([["a", false, 1]]);
    },
  },
  {
    name: "a release takes back its own claim, and keeps earlier ones unless the run has made progress",
    run: async (t) => {
      await suspects(t, "a", "b");
      const epochs = new Map((await t.claim("v")).map(({ id, epoch }) => [id, epoch]));
      const state = { status: "released", at: T0 } as const;
      await t.applied(
        append("a", { epoch: epochs.get("a") ?? 0, state }),
        append("b", { epoch: epochs.get("b") ?? 0, records: [record(1)], state }),
      );
      t.expect([(await t.run("a")).claims, (await t.run("b")).claims]).toEqual([2, 0]);
    },
  },
  {
    name: "a suspension or a release resets the claim count of a run that lost no worker",
    run: async (t) => {
      await t.applied(create("a"), create("b"));
      await t.claim("v");
      const suspend = append("a", { epoch: 2, state: suspended() });
      await t.applied(suspend, append("b", { epoch: 2, state: { status: "released", at: T0 } }));
      t.expect([(await t.run("a")).claims, (await t.run("b")).claims]).toEqual([0, 0]);
    },
  },
  {
    name: "a claim keeps the wait of a run, so that an event that arrives before the run is loaded is delivered",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"], messages: ["approve"], until: T0 + 5 });
      await t.store.retire("w");
      t.world.advance(5);
      t.expect(await t.claimIds("v")).toEqual(["r"]);
      const { wakes } = await t.applied(post(event("t", "e", { deliver: "afterWait" })));
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "v" }]);
    },
  },
  {
    name: "a continued run starts again with its new input and keeps its inbox and owner",
    run: async (t) => {
      await t.owned("r");
      await t.sendUnawaited("r", "m");
      const snapshot = { kind: "snapshot", id: "r", runId: "r", body: "{}", attributes: { a: "1" } };
      await t.applied(append("r", { records: [record(1), record(2)], documents: [{ put: snapshot }] }));
      t.world.advance(7);
      const fresh = { workflow: "order2", version: 3, input: '"again"', baseSeq: 3, at: T0 + 7 };
      await t.applied(append("r", { records: [record(3)], state: { status: "continued", ...fresh } }));
      t.expect(await t.run("r")).toMatchObject({
        workflow: "order2",
        version: 3,
        input: '"again"',
        baseSeq: 3,
        generation: 1,
        status: "running",
        owner: "w",
        wakeAt: null,
        startedAt: T0 + 7,
        inboxLast: 1,
      });
      t.expect(await t.seqs("r")).toEqual([]);
      await t.applied(append("r", { turn: 1, records: [record(4)] }));
      t.expect(await t.store.load("r")).toMatchObject({ snapshot: null, records: [{ seq: 4 }], inbox: [{ id: "m" }] });
    },
  },
  {
    name: "nextDueAt returns the earliest due time of the runs that the worker owns or can claim",
    run: async (t) => {
      t.expect(await t.store.nextDueAt("w", ORDER)).toBe(null);
      await t.applied(create("free", { startAt: T0 + 30, workflow: "unknown" }));
      await t.waiting("mine", { until: T0 + 20 });
      await t.applied(create("theirs", { owner: "v" }), append("theirs", { state: suspended({ until: T0 + 10 }) }));
      t.expect([await t.store.nextDueAt("w", ORDER), await t.store.nextDueAt("v", ORDER)]).toEqual([T0 + 20, T0 + 10]);
      await t.applied(append("mine", { turn: 2, state: completed() }));
      t.expect(await t.store.nextDueAt("w", ORDER)).toBe(null);
      t.expect(await t.store.nextDueAt("w", workflows("order", "unknown"))).toBe(T0 + 30);
    },
  },
  {
    name: "dueRuns returns the runs that are due longest first, by the store's clock, and repeats them until they change",
    run: async (t) => {
      for (const [id, until] of [
        ["a", 30],
        ["b", 10],
        ["c", 20],
        ["d", 40],
      ] as const)
        await t.waiting(id, { until: T0 + until });
      t.world.advance(30);
      t.expect(await t.due("w", 10)).toEqual(["b", "c", "a"]);
      t.expect(await t.due("w", 2)).toEqual(["b", "c"]);
      await t.applied(append("b", { turn: 2, state: suspended({ until: T0 + 10 * 365 * 24 * 3600 * 1000 }) }));
      t.expect(await t.due("w", 10)).toEqual(["c", "a"]);
      t.expect(await t.due("v", 10)).toEqual([]);
    },
  },
  {
    name: "ownedRunning returns the running runs of a worker with their epochs, without suspended, ended and lost runs",
    run: async (t) => {
      await t.owned("running", "ended", "lost");
      await t.waiting("suspended", {});
      await t.applied(append("ended", { state: completed() }));
      await t.applied(append("lost", { state: { status: "released", at: T0 } }), create("claimed"));
      await t.claim("v");
      t.expect(await t.store.ownedRunning("w")).toEqual([{ id: "running", epoch: 1 }]);
      t.expect(await t.store.ownedRunning("v")).toEqual([
        { id: "lost", epoch: 2 },
        { id: "claimed", epoch: 2 },
      ]);
      t.expect(await t.store.ownedRunning("unknown")).toEqual([]);
    },
  },
  {
    name: "a clock that steps back makes no run due early and loses no deadline",
    run: async (t) => {
      await t.waiting("r", { until: T0 + 10 });
      t.world.advance(-3_600_000);
      t.expect(await t.due("w", 10)).toEqual([]);
      t.expect(await t.store.nextDueAt("w", ORDER)).toBe(T0 + 10);
      t.world.advance(3_600_010);
      t.expect(await t.due("w", 10)).toEqual(["r"]);
    },
  },
];

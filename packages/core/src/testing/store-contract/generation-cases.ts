import { endedGenerationId } from "../../model/names.ts";
import type { NewRun, Payload } from "../../model/run.ts";
import type { Post } from "../../model/transition.ts";
import {
  append,
  type Control,
  completed,
  control,
  create,
  document,
  message,
  newRun,
  records,
  T0,
} from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

const LATER = T0 + 50;

/** The ended generation as another run, as `endedGeneration` of the engine makes it. */
function kept(over: { readonly generation?: number; readonly outcome?: Payload } = {}): Post {
  const { generation = 0, outcome = '"done"' } = over;
  const id = endedGenerationId("r", generation);
  const end = { status: "completed", outcome, at: T0 } as const;
  return {
    kind: "start",
    run: newRun(id, { startId: "start-r", tags: ["old"] }),
    history: {
      records: records(1, 2).map(({ seq: _, ...record }) => record),
      inbox: [],
      undo: "some",
      life: { startedAt: T0, generation, baseSeq: 0, seqs: [1, 2], end },
    },
  };
}

function again(run: Partial<NewRun> = {}, over: Partial<Control> = {}): Control {
  return control("r", {
    state: {
      status: "restarted",
      run: newRun("r", { startId: "second", createdAt: LATER, tags: ["new"], input: '"again"', ...run }),
      baseSeq: 3,
    },
    journal: { seen: { seq: 2, status: "completed" }, cutAfter: null, add: [], restore: [] },
    posts: [kept()],
    controlId: "again",
    ...over,
  });
}

/** A run with two records, a received message and a snapshot, which has completed. */
async function ended(t: Trial): Promise<void> {
  await t.applied(create("r", { owner: "w", tags: ["old"] }));
  await t.posted(message("r", "m1"));
  await t.applied(
    append("r", {
      records: records(1, 2),
      taken: [1],
      documents: [{ put: document("snapshot", "r", { runId: "r", attributes: { a: "1" } }) }],
      undo: "some",
      state: completed(),
    }),
  );
}

export const generationCases: readonly Case[] = [
  {
    name: "an ended run starts again as the next generation, with the facts of the new start",
    run: async (t) => {
      await ended(t);
      t.world.advance(60);
      const limits = { deadlineAt: LATER + 9, expireAt: null };
      const { wakes } = await t.applied(again({ version: 2, limits }));
      t.expect(wakes).toMatchObject([{ runId: "r", owner: null, epoch: 2 }]);
      t.expect(await t.run("r")).toMatchObject({
        ...{ status: "pending", workflow: "order", version: 2, input: '"again"', tags: ["new"], startId: "second" },
        ...{ createdAt: LATER, startedAt: null, endedAt: null, outcome: null, owner: null, wakeAt: LATER, limits },
        ...{ epoch: 2, turn: 0, generation: 1, baseSeq: 3, undo: "none", wait: null, claims: 0 },
      });
      const loaded = await t.store.load("r");
      t.expect([loaded?.snapshot, [...(loaded?.records ?? [])], loaded?.inbox]).toEqual([null, [], []]);
      t.expect(await t.seqs("r")).toEqual([]);
    },
  },
  {
    name: "an ended generation stays readable under its own id",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      const id = endedGenerationId("r", 0);
      t.expect(await t.run(id)).toMatchObject({
        ...{ id, status: "completed", outcome: '"done"', input: '{"cents":499}', tags: ["old"], startId: "start-r" },
        ...{ createdAt: T0, startedAt: T0, endedAt: T0, generation: 0, baseSeq: 0, owner: null, wakeAt: null },
        undo: "some",
      });
      t.expect(await t.seqs(id)).toEqual([1, 2]);
      t.expect(await t.answer({ kind: "post", post: message(id, "m9") })).toMatchObject({
        post: { kind: "targetTerminated", status: "completed" },
      });
    },
  },
  {
    name: "a run that starts again is claimed and continues its seqs and epochs",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      t.world.advance(60);
      t.expect(await t.claim("v")).toMatchObject([{ id: "r", epoch: 3, generation: 1, claims: 1, startedAt: T0 + 60 }]);
      t.expect(await t.claimIds("v")).toEqual([]);
      await t.applied(append("r", { epoch: 3, records: records(4, 5) }));
      await t.applied(append("r", { epoch: 3, turn: 1, records: records(6, 6), state: completed('"two"') }));
      t.expect(await t.seqs("r")).toEqual([4, 5, 6]);
      t.expect(await t.run("r")).toMatchObject({ status: "completed", outcome: '"two"', generation: 1 });
    },
  },
  {
    name: "lists find a run that starts again by its new time, tags and status, and not by the old ones",
    run: async (t) => {
      await ended(t);
      await t.applied(create("other", { createdAt: T0 + 10 }));
      await t.applied(again({ workflow: "ship" }));
      const { reader } = t.store;
      const ids = async (filter: object): Promise<string[]> =>
        (await reader.list({ ...filter, limit: 10 })).items.map((run) => run.id);
      const old = endedGenerationId("r", 0);
      t.expect(await ids({})).toEqual(["r", "other", old]);
      t.expect(await ids({ tag: "new" })).toEqual(["r"]);
      t.expect(await ids({ tag: "old" })).toEqual([old]);
      t.expect(await ids({ status: ["pending"] })).toEqual(["r", "other"]);
      t.expect(await ids({ status: ["completed"] })).toEqual([old]);
      t.expect(await ids({ workflow: "order" })).toEqual(["other", old]);
      t.expect(await ids({ workflow: "ship" })).toEqual(["r"]);
      t.expect(await t.claimIds("v", 10, [{ name: "ship", version: 1 }])).toEqual([]);
      t.world.advance(60);
      t.expect(await t.claimIds("v", 10, [{ name: "ship", version: 1 }])).toEqual(["r"]);
    },
  },
  {
    name: "one of two restarts at once is applied, and a resent one is recognized",
    run: async (t) => {
      await ended(t);
      const { answers } = await t.commit(again(), again({ startId: "third" }, { controlId: "other" }));
      t.expect(answers).toMatchObject([
        { kind: "applied", again: false },
        { kind: "refused", reason: "fenced", epoch: 2 },
      ]);
      t.expect(await t.answer(again())).toEqual({ kind: "applied", post: null, again: true });
      t.expect(await t.run("r")).toMatchObject({ startId: "second", generation: 1 });
    },
  },
  {
    name: "a restart of an open run, or of one that has changed, is refused and changes nothing",
    run: async (t) => {
      await t.applied(create("r", { owner: "w" }), append("r", { records: records(1, 2) }));
      const before = await t.snapshot("r");
      t.expect(await t.answer(again())).toEqual({ kind: "refused", reason: "moved", seq: 2, status: "running" });
      t.expect(await t.answer(again({}, { epoch: 7 }))).toMatchObject({ reason: "fenced" });
      t.expect(await t.snapshot("r")).toEqual(before);
      await t.applied(append("r", { turn: 1, state: { ...completed(), status: "failed" } as never }));
      t.expect(await t.answer(again())).toEqual({ kind: "refused", reason: "moved", seq: 2, status: "failed" });
      t.expect(await t.store.reader.get(endedGenerationId("r", 0))).toBe(null);
    },
  },
  {
    name: "an append of the ended generation is refused by the next one",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      t.expect(await t.answer(append("r", { records: records(3, 3) }))).toMatchObject({ reason: "fenced", epoch: 2 });
      t.expect(await t.seqs("r")).toEqual([]);
    },
  },
  {
    name: "a message that the ended generation has received is a duplicate for the next one",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      t.expect(await t.posted(message("r", "m1"))).toEqual({ kind: "duplicate" });
      t.expect(await t.posted(message("r", "m2"))).toEqual({ kind: "queued" });
      t.expect(await t.inboxIds("r")).toEqual(["m2"]);
    },
  },
  {
    name: "a run that ends and starts again in one commit is in the lists once",
    run: async (t) => {
      await t.applied(create("r", { owner: "w", tags: ["old"] }), append("r", { records: records(1, 2) }));
      await t.applied(append("r", { turn: 1, state: completed() }), again());
      const { items } = await t.store.reader.list({ limit: 10 });
      t.expect(items.map(({ id, status }) => `${id} ${status}`)).toEqual([
        "r pending",
        `${endedGenerationId("r", 0)} completed`,
      ]);
      t.expect((await t.store.reader.list({ tag: "old", limit: 10 })).items.map(({ id }) => id)).toEqual([
        endedGenerationId("r", 0),
      ]);
    },
  },
  {
    name: "a second restart keeps both ended generations",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      t.world.advance(60);
      await t.claim("v");
      await t.applied(append("r", { epoch: 3, turn: 1, records: records(4, 4), state: completed('"two"') }));
      const seen = { seq: 4, status: "completed" } as const;
      await t.applied(
        again(
          { startId: "third" },
          {
            epoch: 3,
            journal: { seen, cutAfter: null, add: [], restore: [] },
            posts: [kept({ generation: 1, outcome: '"two"' })],
            controlId: "third",
          },
        ),
      );
      t.expect(await t.run("r")).toMatchObject({ generation: 2, epoch: 4, status: "pending" });
      t.expect((await t.run(endedGenerationId("r", 0))).outcome).toBe('"done"');
      t.expect((await t.run(endedGenerationId("r", 1))).outcome).toBe('"two"');
    },
  },
  {
    name: "an ended generation is deleted by retention like any ended run",
    run: async (t) => {
      await ended(t);
      await t.applied(again());
      const request = { runsEndedBefore: T0 + 1, receivedBefore: null, limit: 10 };
      t.expect(await t.store.prune(request)).toMatchObject({ runs: 1 });
      t.expect(await t.store.reader.get(endedGenerationId("r", 0))).toBe(null);
      t.expect(await t.run("r")).toMatchObject({ status: "pending" });
    },
  },
];

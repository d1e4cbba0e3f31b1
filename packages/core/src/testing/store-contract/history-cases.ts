import type { InboxEntry } from "../../model/inbox.ts";
import type { NewRecord } from "../../model/record.ts";
import type { JournalChange, RunState } from "../../model/transition.ts";
import {
  append,
  type Control,
  completed,
  control,
  document,
  event,
  message,
  newRun,
  post,
  record,
  records,
  suspended,
  T0,
} from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

const REOPENED = { status: "reopened", at: T0, version: null, undo: "none" } as const;

/** The record of an operator action. */
function operatorRecord(over: Partial<NewRecord> = {}): NewRecord {
  const { seq: _, ...rest } = record(1, { location: "~", kind: "operator", detail: "rewind", attempts: 0 });
  return { ...rest, ...over };
}

function entry(id: string, over: Partial<InboxEntry> = {}): Omit<InboxEntry, "n"> {
  const fixed = { kind: "message", status: null, at: T0, onTargetTerminated: "discard" } as const;
  return { ...fixed, id, name: "approve", value: `"${id}"`, ...over };
}

/** A rewind without a condition on the journal. */
function rewind(runId: string, journal: Partial<JournalChange>, over: Partial<Control> = {}): Control {
  const change = { seen: null, cutAfter: null, add: [operatorRecord()], restore: [], ...journal };
  return control(runId, { state: REOPENED, controlId: "rewind", journal: change, ...over });
}

async function locations(t: Trial, id: string): Promise<string[]> {
  const journal = await t.store.reader.journal(id, { afterSeq: 0, limit: 100 });
  return journal.map(({ seq, location }) => `${seq} ${location}`);
}

export const historyCases: readonly Case[] = [
  {
    name: "an unreceived event of an ended run is delivered to the run again after it is reopened",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { state: suspended({ topics: ["news"] }) }));
      await t.applied(post(event("news", "e")));
      await t.applied(append("r", { turn: 2, state: completed() }));
      await t.applied(rewind("r", { cutAfter: 0 }));
      const [again] = await t.claim("w");
      await t.applied(
        append("r", {
          epoch: again?.epoch ?? 0,
          turn: 1,
          state: suspended({ topics: ["news"] }, again?.inboxLast ?? 0),
        }),
      );
      t.expect((await t.store.load("r"))?.inbox.map(({ id }) => id)).toEqual(["event:e"]);
      t.expect((await t.run("r")).wakeAt === null).toBe(false);
    },
  },
  {
    name: "a cut deletes the records after its seq, and added records follow the remaining ones",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 4) }));
      const { wakes } = await t.applied(rewind("r", { cutAfter: 2 }));
      t.expect(await locations(t, "r")).toEqual(["1 step#1", "2 step#2", "3 ~"]);
      t.expect(wakes).toMatchObject([{ runId: "r", owner: null }]);
      t.expect(await t.run("r")).toMatchObject({ status: "running", owner: null, epoch: 2, claims: 0, wakeAt: T0 });
      t.expect((await t.claim("v"))[0]).toMatchObject({ id: "r", epoch: 3 });
      await t.applied(append("r", { epoch: 3, records: [record(4, { location: "again" })] }));
      t.expect(await locations(t, "r")).toEqual(["1 step#1", "2 step#2", "3 ~", "4 again"]);
    },
  },
  {
    name: "a cut before the first record of a generation leaves only the added records",
    run: async (t) => {
      await t.owned("r");
      const state: RunState = { status: "continued", workflow: "order", version: 1, input: null, baseSeq: 3, at: T0 };
      await t.applied(append("r", { records: records(1, 3), state }));
      await t.applied(append("r", { turn: 1, records: records(4, 5) }));
      await t.applied(rewind("r", { cutAfter: 3 }));
      t.expect(await locations(t, "r")).toEqual(["4 ~"]);
      t.expect(await t.run("r")).toMatchObject({ baseSeq: 3, generation: 1 });
    },
  },
  {
    name: "a rewind fences every append of the previous owner",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 2) }));
      await t.applied(rewind("r", { cutAfter: 1 }));
      const fenced = { kind: "refused", reason: "fenced", epoch: 2 };
      t.expect(await t.answer(append("r", { records: [record(3)] }))).toEqual(fenced);
      t.expect(await t.answer(append("r", { records: [record(3)], state: completed() }))).toEqual(fenced);
      t.expect(await locations(t, "r")).toEqual(["1 step#1", "2 ~"]);
    },
  },
  {
    name: "a reopened run has no end and no outcome and is claimable, and a terminal run accepts no other control",
    run: async (t) => {
      for (const status of ["completed", "failed", "cancelled"] as const) {
        await t.owned(status);
        await t.applied(append(status, { records: [record(1)], state: { status, outcome: '"o"', at: T0 } }));
        const paused = await t.answer(control(status, { state: { status: "paused", reason: null } }));
        t.expect(paused).toEqual({ kind: "refused", reason: "terminal", status });
        await t.applied(rewind(status, { cutAfter: 0 }));
        const open = { status: "running", outcome: null, endedAt: null, wait: null, version: 1 };
        t.expect(await t.run(status)).toMatchObject(open);
        t.expect(await t.claimIds("v")).toEqual([status]);
        await t.applied(append(status, { epoch: 3, records: [record(2)], state: completed() }));
        t.expect(await t.run(status)).toMatchObject({ status: "completed", endedAt: T0 });
      }
      t.expect(await t.store.reader.count({ status: ["completed"] })).toBe(3);
    },
  },
  {
    name: "a rewind with `seen` is refused if the last seq or the status of the run differs",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 2) }));
      const before = await t.snapshot("r");
      const moved = { kind: "refused", reason: "moved", seq: 2, status: "running" };
      for (const seen of [
        { seq: 1, status: "running" as const },
        { seq: 3, status: "running" as const },
        { seq: 2, status: "failed" as const },
      ]) {
        t.expect(await t.answer(rewind("r", { seen, cutAfter: 0 }))).toEqual(moved);
      }
      t.expect(await t.answer(rewind("r", { cutAfter: 0 }, { epoch: 2 }))).toMatchObject({ reason: "fenced" });
      t.expect(await t.snapshot("r")).toEqual(before);
      await t.applied(rewind("r", { seen: { seq: 2, status: "running" }, cutAfter: 0 }));
      t.expect(await locations(t, "r")).toEqual(["1 ~"]);
    },
  },
  {
    name: "a resent rewind gets the same answer and changes nothing, even if the run was claimed since",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: records(1, 3) }));
      const transition = rewind("r", { seen: { seq: 3, status: "running" }, cutAfter: 1, restore: [entry("m")] });
      await t.applied(transition);
      await t.claim("v");
      await t.applied(append("r", { epoch: 3, records: [record(3)] }));
      const before = await t.snapshot("r");
      t.expect(await t.commit(transition)).toEqual({
        answers: [{ kind: "applied", post: null, again: true }],
        wakes: [],
      });
      t.expect(await t.snapshot("r")).toEqual(before);
    },
  },
  {
    name: "a rewind returns received messages to the inbox once, ahead of the unreceived ones",
    run: async (t) => {
      await t.owned("r");
      await t.applied({ kind: "post", post: message("r", "taken") }, { kind: "post", post: message("r", "open") });
      await t.applied(append("r", { records: [record(1)], taken: [1] }));
      await t.applied(rewind("r", { cutAfter: 0, restore: [entry("taken"), entry("open"), entry("fresh")] }));
      const inbox = await t.inbox("r");
      t.expect(inbox.map(({ n, id }) => `${n} ${id}`)).toEqual(["3 taken", "4 fresh", "5 open"]);
      t.expect((await t.run("r")).inboxLast).toBe(5);
      t.expect(await t.posted(message("r", "taken"))).toEqual({ kind: "duplicate" });
      await t.claim("v");
      await t.applied(append("r", { epoch: 3, records: [record(2)], taken: [3] }));
      t.expect(await t.inboxIds("r")).toEqual(["fresh", "open"]);
    },
  },
  {
    name: "an event that a rewind returned to the inbox goes back to its topic when the run ends",
    run: async (t) => {
      await t.waiting("r", { topics: ["news"] });
      t.expect(await t.posted(event("news", "e"))).toEqual({ kind: "delivered", runs: 1 });
      await t.applied(append("r", { turn: 2, records: [record(1)], taken: [1], state: completed() }));
      const back = entry("event:e", { kind: "event", name: "news", value: '"e"' });
      await t.applied(rewind("r", { cutAfter: 0, restore: [back] }));
      await t.applied(control("r", { epoch: 2, controlId: "end" }));
      await t.waiting("other", { topics: ["news"] });
      t.expect(await t.inboxIds("other")).toEqual(["event:e"]);
    },
  },
  {
    name: "a rewind removes the wait of a suspended run, so that it receives no event",
    run: async (t) => {
      await t.waiting("r", { topics: ["news"], messages: ["approve"], until: T0 + 5 });
      await t.applied(rewind("r", { cutAfter: 0 }));
      t.expect(await t.posted(event("news", "e"))).toEqual({ kind: "queued" });
      t.expect(await t.run("r")).toMatchObject({ wait: null, wakeAt: T0, inboxLast: 0 });
    },
  },
  {
    name: "a rewind deletes the snapshot only if it cuts the journal",
    run: async (t) => {
      await t.owned("r");
      const put = document("snapshot", "r", { runId: "r", attributes: { a: "1" } });
      await t.applied(append("r", { records: records(1, 2), documents: [{ put }] }));
      await t.applied(rewind("r", { cutAfter: null }));
      t.expect(await t.store.load("r")).toMatchObject({ snapshot: { id: "r" }, records: [{ seq: 2 }, { seq: 3 }] });
      await t.applied(rewind("r", { cutAfter: 1 }, { epoch: 2, controlId: "second" }));
      t.expect(await t.store.load("r")).toMatchObject({ snapshot: null, records: [{ seq: 1 }, { seq: 2 }] });
    },
  },
  {
    name: "a reopened run has the version given by the rewind",
    run: async (t) => {
      await t.owned("r");
      await t.applied(rewind("r", {}, { state: { status: "reopened", at: T0, version: 7, undo: "none" } }));
      t.expect(await t.run("r")).toMatchObject({ version: 7, workflow: "order", input: '{"cents":499}' });
    },
  },
  {
    name: "a rewind sets the undo state of the run, and a compensating run becomes running",
    run: async (t) => {
      await t.owned("r");
      await t.applied(append("r", { records: [record(1)], undo: "some" }));
      const stopped: RunState = { status: "compensating", reason: null, at: T0 };
      await t.applied(control("r", { state: stopped, controlId: "cancel" }));
      t.expect(await t.run("r")).toMatchObject({ status: "compensating", undo: "underWay" });
      await t.applied(rewind("r", { cutAfter: 1 }, { epoch: 2, state: { ...REOPENED, undo: "some" } }));
      t.expect(await t.run("r")).toMatchObject({ status: "running", undo: "some" });
      t.expect((await t.claim("v"))[0]).toMatchObject({ status: "running", undo: "some" });
    },
  },
  {
    name: "a rewind delivers its posts",
    run: async (t) => {
      await t.owned("r", "child");
      await t.applied(rewind("r", {}, { posts: [message("child", "m")] }));
      t.expect(await t.inboxIds("child")).toEqual(["m"]);
    },
  },
  {
    name: "a create with a history and an inbox is applied once when it is resent",
    run: async (t) => {
      const history = {
        records: [operatorRecord({ location: "a" }), operatorRecord({ location: "b" })],
        inbox: [entry("m")],
        undo: "some" as const,
      };
      await t.applied({ kind: "create", run: newRun("r"), history });
      t.expect(await locations(t, "r")).toEqual(["1 a", "2 b"]);
      t.expect((await t.inbox("r")).map(({ n, id }) => `${n} ${id}`)).toEqual(["1 m"]);
      t.expect(await t.answer({ kind: "create", run: newRun("r"), history })).toEqual({
        kind: "applied",
        post: null,
        again: true,
      });
      t.expect((await t.claim("v"))[0]).toMatchObject({ id: "r", inboxLast: 1, baseSeq: 0, undo: "some" });
      t.expect(await t.posted(message("r", "m"))).toEqual({ kind: "duplicate" });
      await t.applied(append("r", { epoch: 2, records: [record(3)], taken: [1], state: suspended({}, 1) }));
      t.expect(await t.seqs("r")).toEqual([1, 2, 3]);
      t.expect((await t.run("r")).status).toBe("suspended");
    },
  },
  {
    name: "a run that is started by a post can have a history",
    run: async (t) => {
      await t.owned("r");
      const history = { records: [operatorRecord({ location: "a" })], inbox: [], undo: "none" as const };
      await t.applied(append("r", { records: [record(1)], posts: [{ kind: "start", run: newRun("copy"), history }] }));
      t.expect(await locations(t, "copy")).toEqual(["1 a"]);
    },
  },
  {
    name: "an imported run continues after its last seq, and can be imported with its end",
    run: async (t) => {
      const life = { startedAt: T0 - 500, generation: 3, baseSeq: 40, seqs: [41, 52] };
      const records = [operatorRecord({ location: "a" }), operatorRecord({ location: "b" })];
      const history = { records, inbox: [], undo: "none" as const, life };
      await t.applied({ kind: "create", run: newRun("r", { input: `"${"long ".repeat(500)}"` }), history });
      t.expect(await locations(t, "r")).toEqual(["41 a", "52 b"]);
      const [claimed] = await t.claim("v");
      t.expect(claimed).toMatchObject({ id: "r", startedAt: T0 - 500, generation: 3, baseSeq: 40, epoch: 2 });
      t.expect((await t.run("r")).input?.length).toBe(2_502);
      await t.applied(append("r", { epoch: 2, records: [record(53)], state: suspended({}, 0) }));
      t.expect(await t.seqs("r")).toEqual([41, 52, 53]);
      const notStarted = { startedAt: null, generation: 0, baseSeq: 0, seqs: [1, 2] };
      await t.applied({ kind: "create", run: newRun("ended"), history: { ...history, life: notStarted } });
      await t.applied(control("ended", { state: completed(), controlId: "import" }));
      t.expect(await t.run("ended")).toMatchObject({ status: "completed", startedAt: null, generation: 0 });
      const bare = { ...history, records: [], life: { ...life, seqs: [] } };
      await t.applied(
        { kind: "create", run: newRun("bare"), history: bare },
        append("bare", { records: [record(41)] }),
      );
      t.expect(await t.seqs("bare")).toEqual([41]);
    },
  },
];

import { describe, expect, it } from "vitest";
import type { AppendOp, Op, RunView } from "../model/op.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type NewRun, type Parent, STATUSES, type Status, type Undo } from "../model/run.ts";
import {
  type EventPost,
  emptyAppend,
  type MessagePost,
  type RunState,
  type StoredDocument,
} from "../model/transition.ts";
import { decide } from "./decide.ts";

const NOW = 1_000;
const OPEN = STATUSES.filter((status) => !isTerminal(status));
const TERMINAL = STATUSES.filter(isTerminal);

const view = (status: Status, over: Partial<RunView> = {}): RunView => ({
  id: "r",
  status,
  epoch: 3,
  turn: 7,
  seq: 2,
  parent: null,
  undo: "none",
  ...over,
});
const record = (seq: number): JournalRecord => ({
  seq,
  location: `s${seq}`,
  kind: "step",
  outcome: "ok",
  payload: null,
  attempts: 1,
  startedAt: 0,
  at: 0,
  detail: null,
});
const append = (over: Partial<AppendOp> = {}): AppendOp => ({ ...emptyAppend("r", 3), ...over });
const parent: Parent = { runId: "p", location: "child", onClose: "cancel" };
const message: MessagePost = {
  kind: "message",
  to: "r",
  id: "m",
  name: "m",
  value: null,
  at: 0,
  onTargetTerminated: "discard",
  from: null,
};
const document: StoredDocument = { kind: "k", id: "d", runId: null, body: null, attributes: {} };
const event: EventPost = {
  kind: "event",
  topic: "t",
  id: "e",
  value: null,
  at: 0,
  expireAt: 1,
  deliver: "all",
  consume: "one",
  pendingMax: 1,
};
const run: NewRun = {
  id: "r",
  workflow: "w",
  version: 1,
  input: null,
  tags: [],
  parent: null,
  createdAt: 0,
  startId: "s",
  owner: null,
  startAt: 0,
};

describe("ops that need no view", () => {
  const cases: ReadonlyArray<readonly [Op, object]> = [
    [
      { kind: "start", run },
      { kind: "create", run },
    ],
    [
      { kind: "send", post: message },
      { kind: "post", post: message },
    ],
    [
      { kind: "emit", post: event },
      { kind: "post", post: event },
    ],
    [
      { kind: "letter", letterId: "l", post: null },
      { kind: "letter", letterId: "l", post: null },
    ],
    [
      { kind: "letter", letterId: "l", post: message },
      { kind: "letter", letterId: "l", post: message },
    ],
    [
      { kind: "documents", documents: [] },
      { kind: "documents", documents: [] },
    ],
    [
      { kind: "revise", seen: null, document, post: message },
      { kind: "revise", seen: null, document, post: message },
    ],
  ];
  it.each(cases)("an op without a view becomes a transition for any view: %j", (op, transition) => {
    for (const each of [null, ...STATUSES.map((status) => view(status))]) {
      expect(decide(each, op, NOW)).toEqual({ kind: "transition", transition });
    }
  });
});

describe("appends", () => {
  it.each(OPEN)("an append to a run that is %s is a transition under its epoch", (status) => {
    const op = append({
      records: [record(3), record(4)],
      trim: [{ from: 1, to: 2 }],
      taken: [1],
      posts: [message],
      inbox: 5,
      notBefore: 6,
    });
    expect(decide(view(status), op, NOW)).toEqual({ kind: "transition", transition: op });
  });

  it.each(TERMINAL)("an append to a run that is %s is lost because the run has ended", (status) => {
    expect(decide(view(status), append(), NOW)).toEqual({
      kind: "outcome",
      outcome: { kind: "lost", reason: "ended" },
    });
  });

  it("an append to an unknown run is lost because the run is gone", () => {
    expect(decide(null, append(), NOW)).toEqual({ kind: "outcome", outcome: { kind: "lost", reason: "gone" } });
  });

  it.each(STATUSES)("an append of another epoch is lost when the run is %s", (status) => {
    for (const epoch of [2, 4]) {
      const outcome = { kind: "lost", reason: "fenced" };
      expect(decide(view(status), append({ epoch }), NOW)).toEqual({ kind: "outcome", outcome });
    }
  });

  it("an append carries whether there is something to undo", () => {
    expect(decide(view("running"), append({ undo: "some" }), NOW)).toMatchObject({
      transition: { undo: "some" },
    });
  });

  it("an append takes the next turn when it changes the row", () => {
    const state: RunState = { status: "running", wait: null, inboxSeen: 0 };
    expect(decide(view("running"), append({ state }), NOW)).toMatchObject({ transition: { turn: 8 } });
  });

  it.each([
    ["leave a gap", [record(4)]],
    ["start before the newest", [record(2)]],
    ["are out of order", [record(4), record(3)]],
    ["repeat one", [record(3), record(3)]],
  ])("an append throws when its records %s", (_, records) => {
    expect(() => decide(view("running"), append({ records }), NOW)).toThrow(
      /run r: record \d appended where \d follows/,
    );
  });

  it.each(TERMINAL)(
    "an append that ends the run as %s closes its children and notifies its parent after its own posts",
    (status) => {
      const state: RunState = { status, outcome: '"o"', at: 9 };
      const close = { kind: "closeChildren", of: "r", reason: null, at: 9, isEnd: true };
      const end = { kind: "childEnd", to: "p", location: "child", child: "r", status, outcome: '"o"', at: 9 };
      expect(decide(view("running", { parent }), append({ state, posts: [message] }), NOW)).toMatchObject({
        transition: { posts: [message, close, end], state },
      });
      expect(decide(view("running"), append({ state }), NOW)).toMatchObject({ transition: { posts: [close] } });
    },
  );

  it("an append that completes a run with rollbacks reports it to the parent as undoable", () => {
    const state: RunState = { status: "completed", outcome: '"o"', at: 9 };
    const decided = (undo: Undo, brought: Undo | null, end: RunState = state) =>
      decide(view("running", { parent, undo }), append({ state: end, undo: brought }), NOW);
    for (const decision of [decided("some", null), decided("none", "some")]) {
      expect(decision).toMatchObject({ transition: { posts: [{}, { status: "undoable" }] } });
    }
    expect(decided("some", "none")).toMatchObject({ transition: { posts: [{}, { status: "completed" }] } });
    const failed: RunState = { status: "failed", outcome: null, at: 9 };
    expect(decided("some", null, failed)).toMatchObject({ transition: { posts: [{}, { status: "failed" }] } });
  });

  it("an append that does not end the run adds no posts", () => {
    const wait = { messages: [], topics: [], children: false, until: null, since: 0, open: [], openCount: 0 };
    const states: readonly RunState[] = [
      { status: "running", wait: null, inboxSeen: 0 },
      { status: "suspended", wait, inboxSeen: 0 },
      { status: "released", at: 0 },
      { status: "paused", reason: null },
      { status: "continued", workflow: "w", version: 1, input: null, baseSeq: 2, at: 0 },
    ];
    for (const state of states) {
      expect(decide(view("running", { parent }), append({ state }), NOW)).toMatchObject({ transition: { posts: [] } });
    }
  });
});

describe("controls", () => {
  const cancel: Op = { kind: "cancel", runId: "r", opId: "c", reason: '"why"' };
  const pause: Op = { kind: "pause", runId: "r", opId: "c", reason: '"why"' };
  const resume: Op = { kind: "resume", runId: "r", opId: "c" };
  const fail: Op = { kind: "fail", runId: "r", opId: "c", epoch: 3, failure: '"why"' };
  const terminate: Op = { kind: "terminate", runId: "r", opId: "c", reason: '"why"' };
  const all = [cancel, terminate, pause, resume, fail] as const;

  it("a failure with something to undo compensates first if the op requests it, and keeps the claims", () => {
    const compensated: Op = { ...fail, compensate: { claims: 3 } };
    const state = { status: "compensating", end: "failed", reason: '"why"', claims: 3, at: NOW };
    expect(decide(view("running", { undo: "some" }), compensated, NOW)).toMatchObject({
      transition: { kind: "control", epoch: 3, undo: "some", state },
    });
    const failed = { transition: { state: { status: "failed", outcome: '"why"', at: NOW } } };
    expect(decide(view("running", { undo: "some" }), fail, NOW)).toMatchObject(failed);
    for (const undo of ["none", "underWay"] as const)
      expect(decide(view("running", { undo }), compensated, NOW)).toMatchObject(failed);
  });

  it.each(all)("a control of an unknown run has the outcome notFound: $kind", (op) => {
    expect(decide(null, op, NOW)).toEqual({ kind: "outcome", outcome: { kind: "notFound" } });
  });

  it.each(all)("a control of an ended run has the outcome ended with its status: $kind", (op) => {
    for (const status of TERMINAL) {
      expect(decide(view(status), op, NOW)).toEqual({ kind: "outcome", outcome: { kind: "ended", status } });
    }
  });

  it.each(OPEN)("a cancel ends a run that is %s under the epoch that was read, and closes its children", (status) => {
    expect(decide(view(status, { parent }), cancel, NOW)).toEqual({
      kind: "transition",
      transition: {
        kind: "control",
        runId: "r",
        epoch: 3,
        controlId: "c",
        undo: "none",
        state: { status: "cancelled", outcome: '"why"', at: NOW },
        journal: null,
        posts: [
          { kind: "closeChildren", of: "r", reason: null, at: NOW, isEnd: true },
          { kind: "childEnd", to: "p", location: "child", child: "r", status: "cancelled", outcome: '"why"', at: NOW },
        ],
      },
    });
  });

  it.each(["none", "some", "underWay"] as const)(
    "a terminate ends a run whose undo state is %s, whatever it becomes",
    (undo) => {
      expect(decide(view("running", { undo }), terminate, NOW)).toMatchObject({
        kind: "transition",
        transition: { kind: "control", undo: null, state: { status: "cancelled", outcome: '"why"', at: NOW } },
      });
    },
  );

  it.each(OPEN)(
    "a cancel stops a run that is %s and has rollbacks, closes its children, and reports no end",
    (status) => {
      expect(decide(view(status, { parent, undo: "some" }), cancel, NOW)).toEqual({
        kind: "transition",
        transition: {
          kind: "control",
          runId: "r",
          epoch: 3,
          controlId: "c",
          undo: "some",
          state: { status: "compensating", reason: '"why"', at: NOW },
          journal: null,
          posts: [{ kind: "closeChildren", of: "r", reason: null, at: NOW }],
        },
      });
    },
  );

  it.each(OPEN)("a cancel is refused when the run is already compensating: %s", (status) => {
    expect(decide(view(status, { undo: "underWay" }), cancel, NOW)).toEqual({
      kind: "outcome",
      outcome: { kind: "refused", status: "compensating" },
    });
  });

  it.each(OPEN)("a pause pauses a run that is %s unless it is paused", (status) => {
    const state = { status: "paused", reason: '"why"' };
    const transition = {
      kind: "control",
      runId: "r",
      epoch: 3,
      controlId: "c",
      state,
      posts: [],
      undo: null,
      journal: null,
    };
    expect(decide(view(status, { parent }), pause, NOW)).toEqual(
      status === "paused" ? { kind: "outcome", outcome: { kind: "done" } } : { kind: "transition", transition },
    );
  });

  it.each(OPEN)("a cancel by the owner is a request if the run is executed: %s", (status) => {
    const decision = decide(view(status, { parent }), { ...cancel, by: "owner" }, NOW);
    const request = { kind: "cancel", to: "r", id: "cancel:3", reason: '"why"', at: NOW };
    if (status === "running")
      expect(decision).toEqual({ kind: "transition", transition: { kind: "post", post: request } });
    else expect(decision).toEqual(decide(view(status, { parent }), cancel, NOW));
  });

  it.each(OPEN)("a pause by the owner is a request if the run is executed: %s", (status) => {
    const decision = decide(view(status, { parent }), { ...pause, by: "owner" }, NOW);
    const request = { kind: "cancel", to: "r", id: "pause:3", reason: '"why"', at: NOW };
    if (status === "running" || status === "compensating")
      expect(decision).toEqual({ kind: "transition", transition: { kind: "post", post: request } });
    else expect(decision).toEqual(decide(view(status, { parent }), pause, NOW));
  });

  it("a resume with an epoch is refused when the run has another epoch", () => {
    const { epoch } = view("paused");
    const refused = { kind: "outcome", outcome: { kind: "refused", status: "paused" } };
    expect(decide(view("paused"), { ...resume, epoch: epoch + 1 }, NOW)).toEqual(refused);
    expect(decide(view("paused"), { ...resume, epoch }, NOW)).toMatchObject({ kind: "transition" });
  });

  it.each(OPEN)("a resume resumes only a paused run: %s", (status) => {
    const state = { status: "resumed", at: NOW };
    const transition = {
      kind: "control",
      runId: "r",
      epoch: 3,
      controlId: "c",
      state,
      posts: [],
      undo: null,
      journal: null,
    };
    expect(decide(view(status, { parent }), resume, NOW)).toEqual(
      status === "paused"
        ? { kind: "transition", transition }
        : { kind: "outcome", outcome: { kind: "refused", status } },
    );
  });

  it.each(OPEN)("a fail ends a run that is %s only under the epoch that was claimed", (status) => {
    expect(decide(view(status, { parent }), fail, NOW)).toMatchObject({
      transition: {
        kind: "control",
        epoch: 3,
        state: { status: "failed", outcome: '"why"', at: NOW },
        posts: [{}, { status: "failed" }],
      },
    });
    expect(decide(view(status, { epoch: 4 }), fail, NOW)).toEqual({
      kind: "outcome",
      outcome: { kind: "refused", status },
    });
  });

  it.each(OPEN)("a hold takes a run that is %s from its owner unless it is paused", (status) => {
    const hold: Op = { kind: "hold", runId: "r", opId: "c", forMs: 50 };
    const state = { status: "released", at: NOW + 50 };
    expect(decide(view(status), hold, NOW)).toMatchObject(
      status === "paused" ? { outcome: { kind: "done" } } : { transition: { kind: "control", epoch: 3, state } },
    );
  });

  it.each(STATUSES)("a rewrite changes the journal of a run that is %s under the epoch that was read", (status) => {
    const journal = { seen: { seq: 2, status }, cutAfter: 1, add: [], restore: [] };
    const op: Op = {
      kind: "rewrite",
      runId: "r",
      opId: "c",
      epoch: 3,
      journal,
      version: 2,
      undo: "some",
      posts: [message],
    };
    const state = { status: "reopened", at: NOW, version: 2, undo: "some" };
    expect(decide(view(status, { parent }), op, NOW)).toEqual({
      kind: "transition",
      transition: {
        kind: "control",
        runId: "r",
        epoch: 3,
        controlId: "c",
        state,
        posts: [message],
        journal,
        undo: null,
      },
    });
    const moved = { kind: "outcome", outcome: { kind: "moved" } };
    expect(decide(view(status, { epoch: 4 }), op, NOW)).toEqual(moved);
    expect(decide(null, op, NOW)).toEqual({ kind: "outcome", outcome: { kind: "notFound" } });
  });

  it("a decision is the same for the same view, op and time, and changes none of them", () => {
    const seen = Object.freeze(view("running", { parent: Object.freeze({ ...parent }) }));
    for (const op of all) expect(decide(seen, Object.freeze({ ...op }) as Op, NOW)).toEqual(decide(seen, op, NOW));
  });
});

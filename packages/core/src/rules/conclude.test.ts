import { describe, expect, it } from "vitest";
import type { Op } from "../model/op.ts";
import type { NewRun } from "../model/run.ts";
import type { Answer, EventPost, MessagePost, PostAnswer, Transition } from "../model/transition.ts";
import { conclude } from "./conclude.ts";

const run = { id: "r" } as NewRun;
const message = { kind: "message", to: "r", id: "m" } as MessagePost;
const event = { kind: "event", topic: "t", id: "e" } as EventPost;

const start: Op = { kind: "start", run };
const append = { kind: "append", runId: "r", epoch: 1 } as Extract<Op, { kind: "append" }>;
const send: Op = { kind: "send", post: message };
const emit: Op = { kind: "emit", post: event };
const controls: readonly Op[] = [
  { kind: "cancel", runId: "r", opId: "c", reason: null },
  { kind: "pause", runId: "r", opId: "c", reason: null },
  { kind: "resume", runId: "r", opId: "c" },
  { kind: "hold", runId: "r", opId: "c", forMs: 1 },
  { kind: "fail", runId: "r", opId: "c", epoch: 1, failure: null },
];
const rewrite = { kind: "rewrite", runId: "r", opId: "c", epoch: 1 } as Extract<Op, { kind: "rewrite" }>;
const remove: Op = { kind: "letter", letterId: "l", post: null };
const replayMessage: Op = { kind: "letter", letterId: "l", post: message };
const replayEvent: Op = { kind: "letter", letterId: "l", post: event };
const documents: Op = { kind: "documents", documents: [] };
const revise = { kind: "revise", seen: null, post: null } as Extract<Op, { kind: "revise" }>;

const applied = (post: PostAnswer | null = null, again = false): Answer => ({ kind: "applied", post, again });
const exists: Answer = { kind: "refused", reason: "exists", status: "suspended", epoch: 2 };
const notFound: Answer = { kind: "refused", reason: "notFound" };
const terminal: Answer = { kind: "refused", reason: "terminal", status: "failed" };
const fenced: Answer = { kind: "refused", reason: "fenced", epoch: 2 };
const inbox: Answer = { kind: "refused", reason: "inbox", inboxLast: 3 };
const moved: Answer = { kind: "refused", reason: "moved", seq: 3, status: "running" };
const changed: Answer = { kind: "refused", reason: "changed" };
const early: Answer = { kind: "refused", reason: "early", now: 1 };

const outcome = (value: object): object => ({ kind: "outcome", outcome: value });

describe("an answer that is applied means the same the first time and again", () => {
  it("an append that is there already and was sent once is another's: only the journal knows what it says", () => {
    expect(conclude(append, applied(null, true), false)).toEqual(outcome({ kind: "lost", reason: "unsure" }));
  });

  it.each([false, true])("again: %s", (again) => {
    expect(conclude(start, applied(null, again), again)).toEqual(outcome({ kind: "started" }));
    expect(conclude(append, applied(null, again), again)).toEqual(outcome({ kind: "appended", again }));
    for (const op of controls) expect(conclude(op, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
    expect(conclude(rewrite, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
    expect(conclude(remove, applied(null, again), again)).toEqual(outcome({ kind: "removed" }));
    expect(conclude(documents, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
    expect(conclude(revise, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
  });
});

it("a cancel that was applied as a stop says that the run is compensating", () => {
  const stop = { kind: "control", state: { status: "compensating" } } as Transition;
  expect(conclude(controls[0] as Op, applied(), false, stop)).toEqual(outcome({ kind: "compensating" }));
  expect(conclude(controls[0] as Op, fenced, false, stop)).toEqual({ kind: "again" });
});

describe("a refusal", () => {
  it("of a start tells the status of the run that exists", () => {
    expect(conclude(start, exists, false)).toEqual(outcome({ kind: "exists", status: "suspended" }));
  });

  it.each([
    [fenced, "fenced"],
    [inbox, "inbox"],
    [early, "early"],
    [terminal, "ended"],
    [notFound, "gone"],
  ] as const)("of an append tells its owner why: %j", (answer, reason) => {
    expect(conclude(append, answer, false)).toEqual(outcome({ kind: "lost", reason }));
  });

  it.each(controls)("of a control is decided anew when the run changed hands, and is an answer else: $kind", (op) => {
    expect(conclude(op, fenced, false)).toEqual({ kind: "again" });
    expect(conclude(op, terminal, false)).toEqual(outcome({ kind: "ended", status: "failed" }));
    expect(conclude(op, notFound, false)).toEqual(outcome({ kind: "notFound" }));
  });

  it("of a rewrite says that the run has moved on since it was read", () => {
    for (const answer of [fenced, moved]) expect(conclude(rewrite, answer, false)).toEqual(outcome({ kind: "moved" }));
    expect(conclude(rewrite, notFound, false)).toEqual(outcome({ kind: "notFound" }));
  });

  it.each([remove, replayMessage])("of a letter means that there is none", (op) => {
    expect(conclude(op, notFound, false)).toEqual(outcome({ kind: "notFound" }));
  });
});

describe("a post", () => {
  it.each([
    [{ kind: "delivered", runs: 1 }, { kind: "delivered" }],
    [{ kind: "queued" }, { kind: "queued", id: "m" }],
    [{ kind: "duplicate" }, { kind: "duplicate", id: "m" }],
    [{ kind: "targetNotFound" }, { kind: "targetNotFound" }],
    [
      { kind: "targetTerminated", status: "cancelled" },
      { kind: "targetTerminated", status: "cancelled" },
    ],
  ] as const)("of a message: %j", (answer, expected) => {
    expect(conclude(send, applied(answer), false)).toEqual(outcome(expected));
    expect(conclude(replayMessage, applied(answer), false)).toEqual(outcome({ kind: "replayed", outcome: expected }));
  });

  it.each([
    [
      { kind: "delivered", runs: 3 },
      { kind: "delivered", runs: 3 },
    ],
    [{ kind: "queued" }, { kind: "queued", id: "e" }],
    [{ kind: "duplicate" }, { kind: "duplicate", id: "e" }],
    [{ kind: "dropped" }, { kind: "dropped" }],
  ] as const)("of an event: %j", (answer, expected) => {
    expect(conclude(emit, applied(answer), false)).toEqual(outcome(expected));
    expect(conclude(replayEvent, applied(answer), false)).toEqual(outcome({ kind: "replayed", outcome: expected }));
  });

  it("that was sent twice by us is no duplicate: it was accepted the first time", () => {
    const duplicate = applied({ kind: "duplicate" }, true);
    expect(conclude(send, duplicate, true)).toEqual(outcome({ kind: "queued", id: "m" }));
    expect(conclude(emit, duplicate, true)).toEqual(outcome({ kind: "queued", id: "e" }));
    expect(conclude(replayMessage, duplicate, true)).toEqual(
      outcome({ kind: "replayed", outcome: { kind: "queued", id: "m" } }),
    );
  });
});

it("a revision that is refused says whether the document or the run is in the way", () => {
  expect(conclude(revise, changed, false)).toEqual(outcome({ kind: "changed" }));
  expect(conclude(revise, terminal, false)).toEqual(outcome({ kind: "ended", status: "failed" }));
  expect(conclude(revise, notFound, false)).toEqual(outcome({ kind: "ended", status: null }));
});

it("a run that has ended before it began again has moved on", () => {
  const restart = { ...rewrite, restart: { workflow: "w", version: 2, input: null, baseSeq: 1 } };
  expect(conclude(restart, terminal, false)).toEqual(outcome({ kind: "moved" }));
});

describe("an answer that can't be is a bug, and throws", () => {
  const impossible: ReadonlyArray<readonly [Op, Answer]> = [
    ...[notFound, terminal, fenced, inbox, early].map((answer) => [start, answer] as const),
    ...[exists, moved].map((answer) => [append, answer] as const),
    ...[exists, inbox, early, terminal].map((answer) => [rewrite, answer] as const),
    ...[exists, fenced, inbox, early, moved].map((answer) => [revise, answer] as const),
    ...[append, rewrite, ...controls].map((op) => [op, changed] as const),
    ...controls.flatMap((op) => [exists, inbox, early, moved].map((answer) => [op, answer] as const)),
    ...[exists, notFound, terminal, fenced, inbox, early, applied(null)].map((answer) => [send, answer] as const),
    ...[exists, notFound, terminal, fenced, inbox, early, applied(null)].map((answer) => [emit, answer] as const),
    [send, applied({ kind: "dropped" })],
    [emit, applied({ kind: "targetNotFound" })],
    [emit, applied({ kind: "targetTerminated", status: "failed" })],
    [replayMessage, applied(null)],
  ];
  it.each(impossible)("%j answered with %j", (op, answer) => {
    expect(() => conclude(op, answer, false)).toThrow();
  });
});

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
  { kind: "terminate", runId: "r", opId: "t", reason: null },
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

describe("an applied answer", () => {
  it("an append sent once whose seqs are taken is unsure, because an earlier session wrote them", () => {
    expect(conclude(append, applied(null, true), false)).toEqual(outcome({ kind: "lost", reason: "unsure" }));
  });

  it.each([false, true])(
    "an applied answer gives the same outcome when the transition is applied again: %s",
    (again) => {
      expect(conclude(start, applied(null, again), again)).toEqual(outcome({ kind: "started" }));
      expect(conclude(append, applied(null, again), again)).toEqual(outcome({ kind: "appended", again }));
      for (const op of controls) expect(conclude(op, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
      expect(conclude(rewrite, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
      expect(conclude(remove, applied(null, again), again)).toEqual(outcome({ kind: "removed" }));
      expect(conclude(documents, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
      expect(conclude(revise, applied(null, again), again)).toEqual(outcome({ kind: "done" }));
    },
  );
});

it("a cancel applied as a stop has the outcome compensating", () => {
  const stop = { kind: "control", state: { status: "compensating" } } as Transition;
  expect(conclude(controls[0] as Op, applied(), false, stop)).toEqual(outcome({ kind: "compensating" }));
  expect(conclude(controls[0] as Op, fenced, false, stop)).toEqual({ kind: "again" });
});

it.each(["cancel", "pause"] as const)(
  "a %s sent to the owner is requested, unless the run is gone or ended",
  (kind) => {
    const op: Op = { kind, runId: "r", opId: "c", reason: null, by: "owner" };
    const sent = { kind: "post", post: { kind: "cancel" } } as Transition;
    for (const answer of ["delivered", "queued", "duplicate"] as const) {
      const posted = answer === "delivered" ? { kind: answer, runs: 1 } : { kind: answer };
      expect(conclude(op, applied(posted), false, sent)).toEqual(outcome({ kind: "requested" }));
    }
    expect(conclude(op, applied({ kind: "targetNotFound" }), false, sent)).toEqual(outcome({ kind: "notFound" }));
    const ended = { kind: "targetTerminated", status: "failed" } as const;
    expect(conclude(op, applied(ended), false, sent)).toEqual(outcome({ kind: "ended", status: "failed" }));
  },
);

describe("refusals", () => {
  it("a refused start returns the status of the existing run", () => {
    expect(conclude(start, exists, false)).toEqual(outcome({ kind: "exists", status: "suspended" }));
  });

  it.each([
    [fenced, "fenced"],
    [inbox, "inbox"],
    [early, "early"],
    [terminal, "ended"],
    [notFound, "gone"],
  ] as const)("a refused append returns the reason to its owner: %j", (answer, reason) => {
    expect(conclude(append, answer, false)).toEqual(outcome({ kind: "lost", reason }));
  });

  it.each(controls)(
    "a refused control is decided again when the epoch changed, and is an outcome otherwise: $kind",
    (op) => {
      expect(conclude(op, fenced, false)).toEqual({ kind: "again" });
      expect(conclude(op, terminal, false)).toEqual(outcome({ kind: "ended", status: "failed" }));
      expect(conclude(op, notFound, false)).toEqual(outcome({ kind: "notFound" }));
    },
  );

  it("a refused rewrite has the outcome moved when the run changed since it was read", () => {
    for (const answer of [fenced, moved]) expect(conclude(rewrite, answer, false)).toEqual(outcome({ kind: "moved" }));
    expect(conclude(rewrite, notFound, false)).toEqual(outcome({ kind: "notFound" }));
  });

  it.each([remove, replayMessage])("a refused letter op has the outcome notFound", (op) => {
    expect(conclude(op, notFound, false)).toEqual(outcome({ kind: "notFound" }));
  });
});

describe("posts", () => {
  it.each([
    [{ kind: "delivered", runs: 1 }, { kind: "delivered" }],
    [{ kind: "queued" }, { kind: "queued", id: "m" }],
    [{ kind: "duplicate" }, { kind: "duplicate", id: "m" }],
    [{ kind: "targetNotFound" }, { kind: "targetNotFound" }],
    [
      { kind: "targetTerminated", status: "cancelled" },
      { kind: "targetTerminated", status: "cancelled" },
    ],
  ] as const)("a message post has the outcome of its answer: %j", (answer, expected) => {
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
  ] as const)("an event post has the outcome of its answer: %j", (answer, expected) => {
    expect(conclude(emit, applied(answer), false)).toEqual(outcome(expected));
    expect(conclude(replayEvent, applied(answer), false)).toEqual(outcome({ kind: "replayed", outcome: expected }));
  });

  it("a duplicate answer to a resent post counts as accepted", () => {
    const duplicate = applied({ kind: "duplicate" }, true);
    expect(conclude(send, duplicate, true)).toEqual(outcome({ kind: "queued", id: "m" }));
    expect(conclude(emit, duplicate, true)).toEqual(outcome({ kind: "queued", id: "e" }));
    expect(conclude(replayMessage, duplicate, true)).toEqual(
      outcome({ kind: "replayed", outcome: { kind: "queued", id: "m" } }),
    );
  });
});

it("a refused revision returns whether the document or the run has changed", () => {
  expect(conclude(revise, changed, false)).toEqual(outcome({ kind: "changed" }));
  expect(conclude(revise, terminal, false)).toEqual(outcome({ kind: "ended", status: "failed" }));
  expect(conclude(revise, notFound, false)).toEqual(outcome({ kind: "ended", status: null }));
});

it("a restart of a run that has ended meanwhile has the outcome moved", () => {
  const restart = { ...rewrite, restart: { workflow: "w", version: 2, input: null, baseSeq: 1 } };
  expect(conclude(restart, terminal, false)).toEqual(outcome({ kind: "moved" }));
});

describe("impossible answers", () => {
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
  it.each(impossible)("conclude throws when %j is answered with %j", (op, answer) => {
    expect(() => conclude(op, answer, false)).toThrow();
  });
});

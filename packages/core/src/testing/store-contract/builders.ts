import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Wait } from "../../model/run.ts";
import {
  type EventPost,
  emptyAppend,
  type MessagePost,
  type Post,
  type RunState,
  type StoredDocument,
  type Transition,
} from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";

/** The time at which the clock of the suite starts. */
export const T0 = 1_700_000_000_000;
export const DAY_MS = 24 * 60 * 60 * 1000;

export type Append = Extract<Transition, { kind: "append" }>;
export type Control = Extract<Transition, { kind: "control" }>;

/** Workflows by name, in version 1. */
export function workflows(...names: string[]): readonly WorkflowRef[] {
  return names.map((name) => ({ name, version: 1 }));
}

/** The workflow of the runs of the suite, unless a case passes another. */
export const ORDER = workflows("order");

export function newRun(id: string, over: Partial<NewRun> = {}): NewRun {
  return {
    id,
    workflow: "order",
    version: 1,
    input: '{"cents":499}',
    tags: [],
    parent: null,
    createdAt: T0,
    startId: `start-${id}`,
    owner: null,
    startAt: over.createdAt ?? T0,
    ...over,
  };
}

export function create(id: string, over: Partial<NewRun> = {}): Transition {
  return { kind: "create", run: newRun(id, over) };
}

export function record(seq: number, over: Partial<JournalRecord> = {}): JournalRecord {
  return {
    seq,
    location: `step#${seq}`,
    kind: "step",
    outcome: "ok",
    payload: `"${seq}"`,
    attempts: 1,
    startedAt: T0,
    at: T0,
    detail: null,
    ...over,
  };
}

/** Records from `first` to `last`. */
export function records(first: number, last: number): JournalRecord[] {
  return Array.from({ length: last - first + 1 }, (_, index) => record(first + index));
}

export function append(runId: string, over: Partial<Append> = {}): Append {
  const turn = over.state === undefined || over.state === null ? 0 : 1;
  return { ...emptyAppend(runId, 1), turn, ...over };
}

export function control(runId: string, over: Partial<Control> = {}): Control {
  const state: RunState = { status: "cancelled", outcome: '"why"', at: T0 };
  return {
    kind: "control",
    runId,
    epoch: 1,
    state,
    posts: [],
    undo: null,
    journal: null,
    controlId: `control-${runId}`,
    ...over,
  };
}

export function wait(over: Partial<Wait> = {}): Wait {
  return { messages: [], topics: [], children: false, until: null, since: T0, open: [], openCount: 0, ...over };
}

export function suspended(over: Partial<Wait> = {}, inboxSeen = 0): RunState {
  return { status: "suspended", wait: wait(over), inboxSeen };
}

export function completed(outcome = '"done"'): RunState {
  return { status: "completed", outcome, at: T0 };
}

export function message(to: string, id: string, over: Partial<MessagePost> = {}): MessagePost {
  return {
    kind: "message",
    to,
    id,
    name: "approve",
    value: `"${id}"`,
    at: T0,
    onTargetTerminated: "discard",
    from: null,
    ...over,
  };
}

export function event(topic: string, id: string, over: Partial<EventPost> = {}): EventPost {
  return {
    kind: "event",
    topic,
    id,
    value: `"${id}"`,
    at: T0,
    expireAt: T0 + 7 * DAY_MS,
    deliver: "all",
    consume: "one",
    pendingMax: 10_000,
    ...over,
  };
}

export function post(directPost: Extract<Transition, { kind: "post" }>["post"]): Transition {
  return { kind: "post", post: directPost };
}

export function cancel(to: string, id = `cancel-${to}`): Extract<Post, { kind: "cancel" }> {
  return { kind: "cancel", to, id, reason: '"stop"', at: T0 };
}

export function childEnd(to: string, child: string, location = "child"): Post {
  return { kind: "childEnd", to, location, child, status: "completed", outcome: '"out"', at: T0 };
}

export function document(kind: string, id: string, over: Partial<StoredDocument> = {}): StoredDocument {
  return { kind, id, runId: null, body: `"${id}"`, attributes: {}, ...over };
}

import { childEndId, type InboxEntry } from "../../model/inbox.ts";
import { compensateRecord, type JournalRecord, type NewRecord } from "../../model/record.ts";
import type { NewRun, Wait } from "../../model/run.ts";
import type {
  Append,
  DocumentChange,
  EventPost,
  JournalChange,
  Post,
  RunHistory,
  RunState,
  StoredDocument,
  Transition,
} from "../../model/transition.ts";
import { flag, numberOrNull, toWire, toWireOrNull } from "./wire-text.ts";

/** Arguments of a script. */
type Args = string[];

export interface EncodedBatch {
  readonly args: readonly string[];
  /** Indexes in the batch of the plain appends, which come first in `args`. */
  readonly plain: readonly number[];
  /** Indexes in the batch of all other transitions. */
  readonly rest: readonly number[];
}

/**
 * Encodes a batch as arguments of the commit script. `script/read-batch.lua` reads them in the same order. Appends of only records come
 * first, except those that follow another change of their run.
 */
export function encodeBatch(batch: readonly Transition[]): EncodedBatch {
  const plain: number[] = [];
  const rest: number[] = [];
  const [ids, others]: [Args, Args] = [[], []];
  const appends = new PlainAppends();
  const changed = new Set<string>();
  for (const [index, transition] of batch.entries()) {
    if (transition.kind === "append" && isPlain(transition) && !changed.has(transition.runId)) {
      plain.push(index);
      ids.push(toWire(transition.runId));
      appends.add(transition);
    } else {
      rest.push(index);
      addChangedRuns(changed, transition);
      writeTransition(others, transition);
    }
  }
  const args = [String(plain.length)].concat(ids, appends.args, String(rest.length), others);
  return { args, plain, rest };
}

/** Adds the runs whose owner, journal or status the transition may change. */
function addChangedRuns(changed: Set<string>, transition: Transition): void {
  if (transition.kind === "create") changed.add(transition.run.id);
  if (transition.kind === "append" || transition.kind === "control") changed.add(transition.runId);
  for (const post of postsOf(transition)) if (post.kind === "start") changed.add(post.run.id);
}

function postsOf(transition: Transition): readonly Post[] {
  if ("posts" in transition) return transition.posts;
  return "post" in transition && transition.post !== null ? [transition.post] : [];
}

function writeTransition(args: Args, transition: Transition): void {
  switch (transition.kind) {
    case "create":
      args.push("create");
      writeRun(args, transition.run);
      writeHistory(args, transition.history);
      return;
    case "append":
      writeAppend(args, transition);
      return;
    case "control":
      args.push("control", toWire(transition.runId), String(transition.epoch), toWire(transition.controlId));
      args.push(toWireOrNull(transition.undo));
      writeJournalChange(args, transition.journal);
      writeState(args, transition.state);
      writePosts(args, transition.posts);
      return;
    case "post":
      args.push("posting");
      writePost(args, transition.post);
      return;
    case "letter":
      args.push("letter", toWire(transition.letterId), flag(transition.post !== null));
      if (transition.post !== null) writePost(args, transition.post);
      return;
    case "documents":
      args.push("changes");
      writeDocuments(args, transition.documents);
      return;
    case "revise":
      args.push("revise", flag(transition.seen !== null));
      if (transition.seen !== null) writeDocument(args, transition.seen);
      writeDocument(args, transition.document);
      args.push(flag(transition.post !== null));
      if (transition.post !== null) writePost(args, transition.post);
      return;
  }
}

/** Whether the append contains only records. */
function isPlain(append: Append): boolean {
  return append.state === null && append.records.length > 0 && append.posts.length === 0 && isSimple(append);
}

/** Whether the append contains at most records, a state and posts. */
function isSimple(append: Append): boolean {
  return (
    append.taken.length === 0 &&
    append.trim.length === 0 &&
    append.undo === null &&
    append.documents.length === 0 &&
    append.inbox === null &&
    append.notBefore === null
  );
}

/**
 * Encodes appends of only records. Consecutive appends with the same epoch and the same number of records form a group, which contains
 * both numbers once. Mostly a batch is one group, and each argument costs both sides as much as a short record.
 */
class PlainAppends {
  readonly args: Args = [];
  #epoch = 0;
  #recordCount = 0;
  /** The index in `args` of the size of the current group. */
  #sizeIndex = -1;
  #size = 0;

  add({ epoch, records }: Append): void {
    if (epoch !== this.#epoch || records.length !== this.#recordCount) {
      this.args.push(String(epoch), String(records.length));
      this.#sizeIndex = this.args.push("") - 1;
      [this.#epoch, this.#recordCount, this.#size] = [epoch, records.length, 0];
    }
    this.#size += 1;
    this.args[this.#sizeIndex] = String(this.#size);
    this.args.push(String(records.at(-1)?.seq));
    pushRecords(this.args, records);
  }
}

function writeAppend(args: Args, append: Append): void {
  const { records } = append;
  args.push("append", toWire(append.runId), String(append.epoch), String(append.turn));
  args.push(String(records[0]?.seq ?? 0), String(records.length));
  pushRecords(args, records);
  writeState(args, append.state);
  writePosts(args, append.posts);
  args.push(flag(!isSimple(append)));
  if (!isSimple(append)) writeRareFields(args, append);
}

/** Writes the fields that most appends do not have. */
function writeRareFields(args: Args, append: Append): void {
  args.push(String(append.trim.length));
  for (const { from, to } of append.trim) args.push(String(from), String(to));
  args.push(String(append.taken.length));
  for (const n of append.taken) args.push(String(n));
  args.push(numberOrNull(append.inbox), numberOrNull(append.notBefore), toWireOrNull(append.undo));
  writeDocuments(args, append.documents);
}

/** The script checks the seq of one record only, so this checks that the seqs are consecutive. */
function pushRecords(args: Args, records: readonly JournalRecord[]): void {
  const first = records[0]?.seq ?? 0;
  for (const [index, record] of records.entries()) {
    const { seq, location, kind, outcome, payload, attempts, startedAt, at, detail } = record;
    if (seq !== first + index) throw new Error(`record ${seq} does not follow ${first + index - 1}`);
    args.push(JSON.stringify([seq, location, kind, outcome, payload, attempts, startedAt, at, detail]));
  }
}

function writeJournalChange(args: Args, change: JournalChange | null): void {
  args.push(flag(change !== null));
  if (change === null) return;
  const { seen, cutAfter, add, restore } = change;
  args.push(numberOrNull(seen?.seq ?? null), seen?.status ?? "", numberOrNull(cutAfter));
  writeRecords(args, add);
  writeEntries(args, restore);
}

function writeState(args: Args, state: RunState | null): void {
  if (state === null) {
    args.push("");
    return;
  }
  args.push(state.status);
  switch (state.status) {
    case "running":
    case "suspended":
      args.push(String(state.inboxSeen));
      writeWait(args, state.wait);
      return;
    case "released":
    case "resumed":
      args.push(String(state.at));
      return;
    case "reopened":
      args.push(String(state.at), numberOrNull(state.version), state.undo);
      return;
    case "compensating":
      args.push(
        String(state.at),
        String(state.claims ?? 0),
        writeRecord(compensateRecord(0, { end: state.end ?? "cancelled", reason: state.reason }, state.at)),
      );
      return;
    case "paused":
      args.push(toWireOrNull(state.reason));
      return;
    case "continued":
      args.push(toWire(state.workflow), String(state.version), toWireOrNull(state.input));
      args.push(String(state.baseSeq), String(state.at));
      return;
    case "restarted":
      writeRun(args, state.run);
      args.push(String(state.baseSeq));
      return;
    case "completed":
    case "failed":
    case "cancelled":
      args.push(toWireOrNull(state.outcome), String(state.at));
  }
}

function writeWait(args: Args, wait: Wait | null): void {
  if (wait === null) {
    args.push("-");
    return;
  }
  args.push(`=${JSON.stringify(wait)}`, numberOrNull(wait.until), flag(wait.children));
  writeTexts(args, wait.messages);
  writeTexts(args, [...new Set(wait.topics)]);
}

function writeDocuments(args: Args, changes: readonly DocumentChange[]): void {
  args.push(String(changes.length));
  for (const change of changes) {
    if ("put" in change) {
      args.push("put");
      writeDocument(args, change.put);
    } else if ("create" in change) {
      args.push("create");
      writeDocument(args, change.create);
    } else if ("mark" in change) {
      args.push("mark", toWire(change.mark.kind), toWire(change.mark.id));
      writeAttributes(args, change.mark.attributes);
    } else args.push("remove", toWire(change.remove.kind), toWire(change.remove.id));
  }
}

function writeDocument(args: Args, { kind, id, runId, body, attributes }: StoredDocument): void {
  args.push(toWire(kind), toWire(id), toWireOrNull(runId), toWireOrNull(body));
  writeAttributes(args, attributes);
}

function writeAttributes(args: Args, attributes: StoredDocument["attributes"]): void {
  for (const name of ["a", "b", "c", "d"] as const) args.push(toWireOrNull(attributes[name] ?? null));
}

function writePosts(args: Args, posts: readonly Post[]): void {
  args.push(String(posts.length));
  for (const post of posts) writePost(args, post);
}

function writePost(args: Args, post: Post): void {
  switch (post.kind) {
    case "message": {
      const { kind, id, name, value, at, onTargetTerminated } = post;
      args.push("message", toWire(post.to));
      writeEntry(args, { kind, id, name, value, status: null, at, onTargetTerminated });
      args.push(flag(post.from !== null));
      return;
    }
    case "event":
      writeEvent(args, post);
      return;
    case "start":
      args.push("start");
      writeRun(args, post.run);
      writeHistory(args, post.history);
      return;
    case "childEnd": {
      const { location, child, status, outcome, at } = post;
      const id = childEndId(location, child);
      args.push("entry", toWire(post.to));
      writeEntry(args, {
        kind: "child",
        id,
        name: location,
        value: outcome,
        status,
        at,
        onTargetTerminated: "discard",
      });
      return;
    }
    case "cancel": {
      const { id, reason, at } = post;
      const fixed = { kind: "cancel", name: "", status: null, onTargetTerminated: "discard" } as const;
      args.push("entry", toWire(post.to));
      writeEntry(args, { ...fixed, id, value: reason, at });
      return;
    }
    case "closeChildren":
      args.push(
        "closeChildren",
        toWire(post.of),
        toWireOrNull(post.reason),
        String(post.at),
        flag(post.isEnd === true),
      );
  }
}

function writeEvent(args: Args, post: EventPost): void {
  const { topic, id, value, at, expireAt, deliver, consume, pendingMax } = post;
  args.push("event", toWire(topic), toWire(id), toWireOrNull(value), String(at), String(expireAt));
  args.push(deliver, consume, String(pendingMax));
}

function writeEntries(args: Args, entries: ReadonlyArray<Omit<InboxEntry, "n">>): void {
  args.push(String(entries.length));
  for (const entry of entries) writeEntry(args, entry);
}

function writeEntry(args: Args, entry: Omit<InboxEntry, "n">): void {
  const { kind, id, name, value, status, at, onTargetTerminated } = entry;
  args.push(kind, toWire(id), toWire(name), toWireOrNull(value), toWireOrNull(status), String(at), onTargetTerminated);
}

function writeRun(args: Args, run: NewRun): void {
  const { parent } = run;
  args.push(
    toWire(run.id),
    toWire(run.workflow),
    String(run.version),
    toWire(run.startId),
    String(run.createdAt),
    toWireOrNull(run.owner),
    String(run.startAt),
    toWireOrNull(run.input),
    JSON.stringify(factsOf(run)),
  );
  writeTexts(args, run.tags);
  args.push(toWireOrNull(parent?.runId ?? null), toWireOrNull(parent?.onClose ?? null));
}

/** The facts that no script reads. */
function factsOf({ tags, parent, limits }: NewRun): readonly unknown[] {
  if (limits !== undefined) return [tags, parent, limits];
  return parent === null ? [tags] : [tags, parent];
}

function writeHistory(args: Args, history: RunHistory | undefined): void {
  args.push(flag(history !== undefined));
  if (history === undefined) return;
  args.push(history.undo);
  writeRecords(args, history.records);
  writeEntries(args, history.inbox);
  const { life } = history;
  args.push(flag(life !== undefined));
  if (life === undefined) return;
  args.push(numberOrNull(life.startedAt), String(life.generation), String(life.baseSeq));
  writeTexts(args, life.seqs.map(String));
  args.push(flag(life.end !== undefined));
  if (life.end !== undefined) args.push(life.end.status, toWireOrNull(life.end.outcome), String(life.end.at));
}

/** One at a time: a call cannot have as many arguments as a journal may have records. */
function writeRecords(args: Args, records: readonly NewRecord[]): void {
  args.push(String(records.length));
  for (const record of records) args.push(writeRecord(record));
}

/** Encodes a record without its opening bracket and seq, which the script adds. */
function writeRecord(record: NewRecord): string {
  const { location, kind, outcome, payload, attempts, startedAt, at, detail } = record;
  return JSON.stringify([location, kind, outcome, payload, attempts, startedAt, at, detail]).slice(1);
}

function writeTexts(args: Args, texts: readonly string[]): void {
  args.push(String(texts.length));
  for (const text of texts) args.push(toWire(text));
}

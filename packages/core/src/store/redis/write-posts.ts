import { childEndId, type InboxEntry } from "../../model/inbox.ts";
import type { NewRecord } from "../../model/record.ts";
import type { NewRun } from "../../model/run.ts";
import type { EventPost, Post, RunHistory } from "../../model/transition.ts";
import { flag, numberOrNull, toWire, toWireOrNull } from "./text.ts";

/** What is said to runs and topics, the runs that it starts with all that they bring along, as the script reads them. */

type Args = string[];

export function writePosts(args: Args, posts: readonly Post[]): void {
  args.push(String(posts.length));
  for (const post of posts) writePost(args, post);
}

export function writePost(args: Args, post: Post): void {
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
      args.push("closeChildren", toWire(post.of), toWireOrNull(post.reason), String(post.at));
  }
}

function writeEvent(args: Args, post: EventPost): void {
  const { topic, id, value, at, expireAt, deliver, consume, pendingMax } = post;
  args.push("event", toWire(topic), toWire(id), toWireOrNull(value), String(at), String(expireAt));
  args.push(deliver, consume, String(pendingMax));
}

export function writeEntries(args: Args, entries: ReadonlyArray<Omit<InboxEntry, "n">>): void {
  args.push(String(entries.length));
  for (const entry of entries) writeEntry(args, entry);
}

function writeEntry(args: Args, entry: Omit<InboxEntry, "n">): void {
  const { kind, id, name, value, status, at, onTargetTerminated } = entry;
  args.push(kind, toWire(id), toWire(name), toWireOrNull(value), toWireOrNull(status), String(at), onTargetTerminated);
}

export function writeRun(args: Args, run: NewRun): void {
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
    JSON.stringify(parent === null ? [run.tags] : [run.tags, parent]),
  );
  writeTexts(args, run.tags);
  args.push(toWireOrNull(parent?.runId ?? null), toWireOrNull(parent?.onClose ?? null));
}

export function writeHistory(args: Args, history: RunHistory | undefined): void {
  args.push(flag(history !== undefined));
  if (history === undefined) return;
  args.push(history.undo, String(history.records.length), ...history.records.map(writeRecord));
  writeEntries(args, history.inbox);
  const { life } = history;
  args.push(flag(life !== undefined));
  if (life === undefined) return;
  args.push(numberOrNull(life.startedAt), String(life.generation), String(life.baseSeq));
  writeTexts(args, life.seqs.map(String));
}

/** Without the bracket and the seq that it begins with, so that the script can give it one. */
export function writeRecord(record: NewRecord): string {
  const { location, kind, outcome, payload, attempts, startedAt, at, detail } = record;
  return JSON.stringify([location, kind, outcome, payload, attempts, startedAt, at, detail]).slice(1);
}

export function writeTexts(args: Args, texts: readonly string[]): void {
  args.push(String(texts.length));
  for (const text of texts) args.push(toWire(text));
}

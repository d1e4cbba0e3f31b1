import { childEndId, childEndStatus, type InboxEntry } from "../model/inbox.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal, type Run } from "../model/run.ts";

/** A child whose start is in the journal of its parent. */
export interface AwaitedChild {
  readonly location: string;
  readonly child: string;
}

/** Children that these records start, but whose end they do not contain. */
export function awaitedChildren(records: Iterable<JournalRecord>): readonly AwaitedChild[] {
  const spawned: AwaitedChild[] = [];
  const received = new Set<string>();
  for (const { kind, location, detail } of records) {
    if (kind === "child") received.add(location);
    else if (kind === "spawn" && detail !== null) spawned.push({ location, child: detail });
  }
  return spawned.filter(({ location }) => !childEndLocations(location).some((end) => received.has(end)));
}

/**
 * The location of the record that receives the end of the child started at `location`. A call activity of a process starts its child at
 * `call/start` and receives the end at `call/result`.
 */
export function childEndLocations(location: string): readonly string[] {
  const own = `${location}/result`;
  return location.endsWith(START) ? [own, `${location.slice(0, -START.length)}/result`] : [own];
}

const START = "/start";

/** The inbox entry for the end of a child. Null if the child has not ended. */
export function childEndEntry({ location, child }: AwaitedChild, run: Run): Omit<InboxEntry, "n"> | null {
  if (!isTerminal(run.status)) return null;
  const { outcome: value, endedAt, undo } = run;
  const status = childEndStatus(run.status, undo);
  const fixed = { kind: "child", onTargetTerminated: "discard" } as const;
  return { ...fixed, id: childEndId(location, child), name: location, value, status, at: endedAt ?? 0 };
}

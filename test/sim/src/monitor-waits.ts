import type { EventPost, InboxEntry, Transition } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import type { ExpectedState } from "./simulation-context.ts";

/** All events that were posted and are kept for later waiters. */
export class EventLedger {
  readonly kept = new Map<string, EventPost>();

  note({ batch, commit }: Extract<AppliedCall, { kind: "commit" }>): void {
    for (const [index, transition] of batch.entries()) {
      if (commit.answers[index]?.kind !== "applied") continue;
      for (const post of eventsOf(transition))
        if (post.deliver !== "afterWait" && !this.kept.has(post.id)) this.kept.set(post.id, post);
    }
  }
}

function eventsOf(transition: Transition): readonly EventPost[] {
  if (transition.kind === "post" || transition.kind === "letter")
    return transition.post?.kind === "event" ? [transition.post] : [];
  if (transition.kind !== "append" && transition.kind !== "control") return [];
  return transition.posts.filter((post) => post.kind === "event");
}

/** I4, I5: no run waits for a pending entry, and each open run can make progress. `now` is the latest time of the store. */
export function checkWaits(monitor: ExpectedState, now: number): void {
  for (const expectedRun of monitor.expectedRuns.values()) {
    const { row } = expectedRun;
    if (hasEnded(row) || row.status === "paused") continue;
    const ready = row.wakeAt !== null && row.wakeAt <= now;
    if (row.status === "suspended" || (row.status === "compensating" && row.wait !== null)) {
      if (ready) continue;
      checkDeadline(monitor, expectedRun);
      checkMissed(monitor, expectedRun);
    } else if (row.owner === null && row.wakeAt === null) {
      monitor.violate("I5", `run ${row.id} is ${row.status}, but no worker owns it or can claim it`);
    }
  }
}

function checkDeadline(monitor: ExpectedState, { row }: ExpectedRun): void {
  const { wait } = row;
  const waits =
    wait !== null && (wait.messages.length > 0 || wait.topics.length > 0 || wait.children || wait.until !== null);
  if (!waits && row.wakeAt === null) monitor.violate("I5", `run ${row.id} is suspended but waits for nothing`);
  const until = wait?.until ?? null;
  if (until !== null && (row.wakeAt === null || row.wakeAt > until)) {
    monitor.violate("I5", `run ${row.id} has a deadline at ${until}, but wakeAt is ${row.wakeAt}`);
  }
}

function checkMissed(monitor: ExpectedState, expectedRun: ExpectedRun): void {
  for (const entry of expectedRun.inbox.values()) {
    if (isMissed(expectedRun, entry))
      monitor.violate(
        "I4",
        `run ${expectedRun.id} is suspended although ${entry.kind} ${entry.name} (${entry.id}) is in its inbox`,
      );
  }
  for (const topic of expectedRun.row.wait?.topics ?? []) {
    for (const event of pendingOn(monitor, expectedRun, topic))
      monitor.violate("I4", `run ${expectedRun.id} waits for ${topic} although event ${event.id} is pending`);
  }
}

/** I4: a pending event goes before a timeout. A timeout commits only if no event is pending that the wait could receive. */
export function checkTimedOut(monitor: ExpectedState, expectedRun: ExpectedRun, location: string, topic: string): void {
  for (const event of pendingOn(monitor, expectedRun, topic))
    monitor.violate(
      "I4",
      `run ${expectedRun.id}: ${location} timed out although event ${event.id} is pending on ${topic}`,
    );
}

/** Events that the run would get if it waited for the topic. */
function pendingOn(monitor: ExpectedState, expectedRun: ExpectedRun, topic: string): readonly EventPost[] {
  return [...monitor.events.kept.values()].filter((event) => {
    if (event.topic !== topic || (event.deliver === "afterCreate" && event.at < expectedRun.row.createdAt))
      return false;
    return event.consume === "all" ? !expectedRun.known.has(eventKey(event)) : !isHad(monitor, event);
  });
}

function isMissed(expectedRun: ExpectedRun, entry: InboxEntry): boolean {
  const { row, inboxSeen } = expectedRun;
  const { wait } = row;
  const isNew = entry.n > inboxSeen;
  switch (entry.kind) {
    case "cancel":
      // A compensating run is already cancelled.
      return row.status !== "compensating";
    case "event":
      return wait?.topics.includes(entry.name) ?? false;
    case "child":
      return (
        (isNew && (wait?.children ?? false)) ||
        (startedHere(expectedRun, entry) &&
          (wait?.open.some(({ location }) => location === `${entry.name}/result`) ?? false))
      );
    case "message":
      // Counted receives, whose names start with n, wait for more messages.
      return (wait?.messages.includes(entry.name) ?? false) && (isNew || entry.name.startsWith("m"));
  }
}

/** True if the current generation of the run started the child. */
function startedHere({ history }: ExpectedRun, entry: InboxEntry): boolean {
  const spawn = history.findLast(({ kind, location }) => kind === "spawn" && location === entry.name);
  return entry.id.endsWith(`:${spawn?.detail ?? ""}`);
}

/** True if a run has, or had, this event for one run. */
function isHad(monitor: ExpectedState, event: EventPost): boolean {
  const key = eventKey(event);
  for (const expectedRun of monitor.expectedRuns.values()) {
    const n = expectedRun.known.get(key);
    if (n !== undefined && (expectedRun.inbox.has(n) || expectedRun.received.has(n))) return true;
  }
  return false;
}

function eventKey(event: EventPost): string {
  return `event:event:${event.id}`;
}

import type { InboxEntry } from "../model/inbox.ts";
import type { Completion, WaitCommand } from "../workflow/command.ts";
import type { Desk } from "./desk.ts";
import { received } from "./received.ts";

/** Ends the waits that the inbox can end, then those whose time is up: what has come goes before what is over. */
export function endWaits(desk: Desk, now: number): void {
  const { open } = desk;
  for (let match = open.takeMatch(); match !== null; match = open.takeMatch()) receive(desk, match.wait, match.entries);
  for (let due = open.takeDue(now); due !== null; due = open.takeDue(now)) {
    if (!("entries" in due)) {
      due.command.retryAt = 0;
      desk.steps.hold(due.command, desk.completions.firmSeq);
      continue;
    }
    const { command, entries } = due;
    desk.draft.guardTime(command.until ?? 0);
    // Nothing may have come before the commit that says that nothing came.
    if (command.arms.length > 0) desk.draft.guardInbox(open.inboxSeen);
    if (command.many) receive(desk, command, entries);
    else timeUp(desk, command);
  }
}

function receive({ draft, completions, codec }: Desk, wait: WaitCommand, entries: readonly InboxEntry[]): void {
  for (const entry of entries) draft.take(entry.n);
  completions.add(wait, received(codec, wait, entries));
}

function timeUp({ completions }: Desk, wait: WaitCommand): void {
  const { outcome, detail } = wait.atDeadline;
  const completion: Completion = outcome === "ok" ? { outcome, value: undefined, detail } : { outcome };
  completions.add(wait, { outcome, payload: null, completion, detail });
}

import type { Desk } from "./desk.ts";
import type { OwnAppends } from "./own-appends.ts";
import { receive } from "./receive.ts";

/** Looks for what has come and what is due: completions are to be handed to the program, the store is to be asked whether a deadline has come, or there is nothing. */
export function lookForMore(desk: Desk, own: OwnAppends, now: () => number): "completions" | "deadlines" | "nothing" {
  const { completions, draft, open } = desk;
  receive(desk);
  if (completions.size > 0) return "completions";
  const due = open.hasDeadlines && own.look(now());
  if (due) draft.announce();
  // A step that was tried again may have ended at once.
  if (completions.size > 0) return "completions";
  return due ? "deadlines" : "nothing";
}

import type { Course } from "./course.ts";
import type { Desk } from "./desk.ts";
import { lookForMore } from "./look-for-more.ts";
import type { OwnAppends } from "./own-appends.ts";
import type { RowState } from "./row-state.ts";

/** Nothing is left to hand to the program: what has come and what is due is looked for; true if there is some. Else the row is told. */
export function settleDown(desk: Desk, own: OwnAppends, course: Course, row: RowState, now: () => number): boolean {
  const found = lookForMore(desk, own, now);
  if (found !== "nothing") return found === "completions";
  if (course.look("idle")) return true;
  row.tell(desk);
  // While bodies run, or the code awaits something of its own, the session itself sees to the deadlines beside them.
  if (desk.steps.busy || desk.open.size === 0) own.watchDeadlines();
  else own.leaveDeadlines();
  return false;
}

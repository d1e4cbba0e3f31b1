import type { Completed } from "./completions.ts";
import type { Desk } from "./desk.ts";

/** The next completion. What was recorded for a branch that has lost its race since then is dropped. */
export function takeOpen({ completions, open, undo }: Desk): Completed | null {
  let next = completions.take();
  for (; next !== null; next = completions.take()) {
    undo.note(next);
    if (open.holds(next.command)) break;
  }
  return next;
}

/** The program hears of nothing any more; what is recorded has happened all the same. */
export function takeAll({ completions, undo }: Desk): void {
  for (let next = completions.take(); next !== null; next = completions.take()) undo.note(next);
}

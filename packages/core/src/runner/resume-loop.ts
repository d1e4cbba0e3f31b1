import type { ResumePoint } from "../workflow/program.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import type { Trail } from "./trail.ts";

/** A loop begins where its journal says that it had come to; the rounds before that are passed over. */
export function resumeLoop(trail: Trail, cursor: JournalCursor, loop: string): ResumePoint | null {
  const point = cursor.resumePoint(loop);
  trail.open(loop);
  if (point?.kind === "round") cursor.passedOver.begin(loop, point.round);
  if (point?.kind === "over") cursor.passedOver.begin(loop, Number.POSITIVE_INFINITY);
  return point;
}

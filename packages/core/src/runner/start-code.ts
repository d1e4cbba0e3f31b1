import type { Payload } from "../model/run.ts";
import type { Course } from "./course.ts";
import type { SessionWorld } from "./session-world.ts";

/** A history of more records is replayed without watching over the code: that would take longer than the replay itself. */
const WATCHED_RECORDS_MAX = 1_000;

/** Starts the program; gives what is to be called when code that is not watched is over, null where it is watched. */
export function startCode(world: SessionWorld, course: Course, input: Payload): (() => void) | null {
  const start = (): void => course.start(input);
  if (course.recordsLeft > WATCHED_RECORDS_MAX) return world.beside(course.runId, start);
  world.within(course.runId, start);
  return null;
}

import type { RunFacts } from "../model/run.ts";
import type { Desk } from "./desk.ts";
import type { CourseOwner, SessionWorld } from "./session-world.ts";

export interface CourseParts {
  readonly owner: CourseOwner;
  readonly desk: Desk;
  readonly world: SessionWorld;
  readonly run: RunFacts;
}

import type { Command, Completion } from "../workflow/command.ts";
import type { SessionWorld } from "./session-world.ts";

/** Gives a completion to the program. A failure is given in the name of the run: if nobody handles it, it is known whose it is. */
export function handOver(world: SessionWorld, runId: string, command: Command, completion: Completion): void {
  if (completion.outcome === "failed") failIn(world, runId, command, completion);
  else command.settle(completion);
}

/** Apart, so that only a failure needs a scope of its own. */
function failIn(world: SessionWorld, runId: string, command: Command, completion: Completion): void {
  world.within(runId, () => command.settle(completion));
}

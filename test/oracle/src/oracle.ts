import type { Scope } from "./block.ts";
import { act, fire, undoNext } from "./happen.ts";
import { isJoined } from "./joins.ts";
import { beginScope, leaveFork } from "./structure.ts";
import { all, isTrue, type World, waitsOf } from "./world.ts";

/**
 * What a process means, block by block. It knows blocks that are under way, not tokens and flows; nothing here is shared with
 * the machine.
 */
export function createWorld(scope: Scope, variables: Readonly<Record<string, unknown>>, at: number): World {
  const world: World = {
    at,
    variables: { ...variables },
    root: null,
    ending: null,
    ids: 0,
    begun: new Map(),
    rules: { act, undoNext },
  };
  beginScope(world, null, scope, null);
  rest(world);
  return world;
}

/** Until nothing more happens by itself: conditions, and joins that wait for what can still come. */
export function rest(world: World): void {
  for (let moves = true; moves && world.ending === null; ) {
    moves = false;
    for (const node of all(world)) {
      if (!node.alive || world.ending !== null) continue;
      const due = waitsOf(node).find(({ on }) => on.kind === "condition" && isTrue(world, on.when));
      if (due !== undefined) {
        moves = true;
        fire(world, node, due);
      } else if (node.part.kind === "fork" && node.part.fork.gateway === "inclusive" && isJoined(node)) {
        moves = true;
        leaveFork(world, node);
      }
    }
  }
}

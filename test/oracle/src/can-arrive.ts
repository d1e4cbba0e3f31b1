import { isPassable } from "./block.ts";
import type { Node } from "./oracle-state.ts";

/** True if a token inside of the block can still reach its end by a flow. */
export function canArrive(node: Node): boolean {
  const { part } = node;
  switch (part.kind) {
    case "seq":
      return node.children.some(canArrive) && part.blocks.slice(part.at + 1).every(isPassable);
    case "fork":
      return part.arrived.size > 0 || node.children.some(canArrive);
    case "repeat":
      return node.children.some(canArrive);
    case "path":
      return part.rejoins && node.children.some(canArrive);
    case "race":
      return part.waits.length > 0 ? isPassable(part.race) : node.children.some(canArrive);
    case "noFlow":
      return isPassable(part.fork);
    case "scope":
    case "activity":
    case "catch":
    case "work":
    case "undoing":
      return true;
  }
}

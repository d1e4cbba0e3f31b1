import { type Fork, isPassable } from "./block.ts";
import { canArrive } from "./can-arrive.ts";
import { isTrue, type Node, type OracleState } from "./oracle-state.ts";

/** The indexes of the branches that are taken. */
export function chosen(oracle: OracleState, { gateway, branches }: Fork): readonly number[] {
  const slots = branches.map((_, i) => i);
  if (gateway === "parallel" || gateway === "complex") return slots;
  const met = slots.filter((i) => {
    const when = branches[i]?.when;
    return when === "always" || (when !== undefined && when !== "default" && isTrue(oracle, when));
  });
  if (met.length > 0) return gateway === "exclusive" ? met.slice(0, 1) : met;
  return slots.filter((i) => branches[i]?.when === "default");
}

/** True if no token has arrived and none can arrive. */
export function isLost(node: Node): boolean {
  return node.part.kind === "fork" && node.part.arrived.size === 0 && node.children.length === 0;
}

/** True if the arrived tokens are enough. */
export function isJoined(node: Node): boolean {
  if (node.part.kind !== "fork") return false;
  const { fork, arrived } = node.part;
  switch (fork.gateway) {
    case "exclusive":
      return arrived.size > 0;
    case "parallel":
      return arrived.size > 0 && fork.branches.every(({ body }, i) => arrived.has(i) || !isPassable(body));
    case "complex":
      return arrived.size >= fork.enough;
    case "inclusive":
      return arrived.size > 0 && !node.children.some(canArrive);
  }
}

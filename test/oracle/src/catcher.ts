import type { Edge, Handler, Trigger } from "./block.ts";
import { isScope, type Node } from "./world.ts";

export type Catcher =
  | { readonly kind: "edge"; readonly node: Node; readonly edge: Edge }
  | { readonly kind: "handler"; readonly node: Node; readonly handler: Handler };

/** The nearest that catches, looking outward: in a scope before on its edge, and its own code before all codes. */
export function catcherOf(from: Node, kind: "error" | "escalation", code: string): Catcher | null {
  for (let node: Node | null = from; node !== null; node = node.parent) {
    if (isScope(node) && !node.part.isInterrupted) {
      const handler = bestOf(node.part.scope.handlers, kind, code);
      if (handler !== null) return { kind: "handler", node, handler };
    }
    if (node.part.kind === "activity") {
      const edge = bestOf(node.part.activity.edges, kind, code);
      if (edge !== null) return { kind: "edge", node, edge };
    }
  }
  return null;
}

function bestOf<Item extends { readonly on: Trigger }>(
  items: readonly Item[],
  kind: string,
  code: string,
): Item | null {
  const catching = (wanted: string | null): Item | undefined =>
    items.find(({ on }) => on.kind === kind && "code" in on && on.code === wanted);
  return catching(code) ?? catching(null) ?? null;
}

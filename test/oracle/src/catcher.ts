import type { BoundaryEvent, Handler, Trigger } from "./block.ts";
import { isScope, type Node } from "./oracle-state.ts";

export type Catcher =
  | { readonly kind: "boundary"; readonly node: Node; readonly boundary: BoundaryEvent }
  | { readonly kind: "handler"; readonly node: Node; readonly handler: Handler };

export type Thrown = "error" | "escalation" | "failure";

/**
 * The nearest handler, searched outward. Handlers of a scope come before its boundary events, an exact code before all codes. A
 * handler does not catch what is thrown inside it.
 */
export function catcherOf(from: Node, kind: Thrown, code: string): Catcher | null {
  let inner: object | null = null;
  for (let node: Node | null = from; node !== null; node = node.parent) {
    if (isScope(node) && !node.part.isInterrupted) {
      const others = node.part.scope.handlers.filter(({ inside }) => inside !== inner);
      const handler = bestOf(others, kind, code);
      if (handler !== null) return { kind: "handler", node, handler };
    }
    if (isScope(node)) inner = node.part.scope;
    if (node.part.kind === "activity") {
      const boundary = bestOf(node.part.activity.boundaryEvents, kind, code);
      if (boundary !== null) return { kind: "boundary", node, boundary };
    }
  }
  return null;
}

function bestOf<Item extends { readonly on: Trigger }>(
  items: readonly Item[],
  kind: Thrown,
  code: string,
): Item | null {
  if (kind === "failure") return items.find(({ on }) => on.kind === "error" && on.failures) ?? null;
  const catching = (wanted: string | null): Item | undefined =>
    items.find(({ on }) => on.kind === kind && "code" in on && on.code === wanted);
  return catching(code) ?? catching(null) ?? null;
}

import type { Activity } from "./block.ts";
import { isScope, type Node, type Undo } from "./oracle-state.ts";

/** The compensation entry of a completed activity. */
export function undoOf(activity: Activity, inner: readonly Undo[], order: number): readonly Undo[] {
  const { id: element, undo: handler } = activity;
  if (handler === null && inner.length === 0) return [];
  return [{ element, handler, inner: handler === null ? inner : [], order }];
}

/** Removes the compensation entries of a scope and returns them. An event sub-process also compensates the scope around it. */
export function takeEntries(scope: Node, of: string | null): readonly Undo[] {
  const found: Undo[] = [];
  for (let at: Node | null = scope; at !== null && isScope(at); at = at.parent) {
    const { part } = at;
    found.push(...part.undo.filter(({ element }) => of === null || element === of));
    part.undo = part.undo.filter((each) => !found.includes(each));
  }
  return found;
}

/** The compensation tasks, newest activity first. */
export function flattened(entries: readonly Undo[]): readonly string[] {
  const newestFirst = [...entries].sort((a, b) => b.order - a.order);
  return newestFirst.flatMap(({ handler, inner }) => (handler === null ? flattened(inner) : [handler]));
}

import type { Desk } from "./desk.ts";

/** Ends the command at a path, or else everything under it. In a replay what the journal still holds of it is passed over. */
export function closeUnder(desk: Desk, path: string, reason: Error, isLive: boolean): void {
  const { open, steps, passedOver, trail, undo } = desk;
  trail.closeUnder(path);
  const closed = open.closeUnder(path);
  if (closed.length === 0) return;
  steps.drop(new Set(closed), reason);
  if (isLive) return;
  for (const { location } of closed) passedOver.close(location);
  undo.closed(closed);
}

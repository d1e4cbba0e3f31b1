import type { Desk } from "./desk.ts";
import type { PassedOver } from "./passed-over.ts";

/** Ends the command at a path, or else everything under it. In a replay, which has a `passedOver`, what the journal still holds of it is passed over. */
export function closeUnder(desk: Desk, path: string, reason: Error, passedOver: PassedOver | null): void {
  const { open, steps, trail, undo } = desk;
  trail.closeUnder(path);
  const closed = open.closeUnder(path);
  if (closed.length === 0) return;
  steps.drop(new Set(closed), reason);
  if (passedOver === null) return;
  for (const { location } of closed) passedOver.close(location);
  undo.closed(closed);
}

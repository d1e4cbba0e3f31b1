import type { Desk } from "./desk.ts";
import { received } from "./received.ts";

/** Ends the waits that the inbox can end. */
export function receive({ open, draft, completions, codec }: Desk): void {
  for (let match = open.takeMatch(); match !== null; match = open.takeMatch()) {
    for (const entry of match.entries) draft.take(entry.n);
    completions.add(match.wait, received(codec, match.wait, match.entries));
  }
}

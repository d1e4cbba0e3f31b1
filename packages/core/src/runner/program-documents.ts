import type { DocumentChange } from "../model/transition.ts";
import type { Command } from "../workflow/command.ts";
import type { Draft } from "./draft.ts";

/** A command takes effect: the documents that it comes with are written with it. */
export function createDocuments(draft: Draft, command: Command): void {
  if (command.kind !== "wait" || command.documents === undefined) return;
  for (const create of command.documents) draft.document({ create });
  draft.announce();
}

/** In a replay it waits for whatever is written next: most often it was written before. */
export function markDocument(draft: Draft, change: DocumentChange, isLive: boolean): void {
  draft.document(change);
  if (isLive) draft.announce();
}

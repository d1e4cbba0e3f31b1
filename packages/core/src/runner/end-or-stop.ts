import type { InboxEntry } from "../model/inbox.ts";
import type { Stop } from "../model/record.ts";
import type { Ending } from "../workflow/program.ts";
import type { Desk } from "./desk.ts";
import { keepable } from "./ending.ts";
import { failurePayload } from "./failure-payload.ts";
import type { Move } from "./move.ts";

/** What becomes of a program that has come to its end, or is to be cancelled: it ends, or is stopped and what it did is undone. */
export function endOrStop(
  { undo, codec, draft }: Desk,
  runId: string,
  asked: Ending | null,
  cancel: Pick<InboxEntry, "n" | "value"> | null,
): Extract<Move, { kind: "ended" }> | { readonly kind: "stop"; readonly stop: Stop } | null {
  if (asked === null) {
    if (cancel === null) return null;
    draft.take(cancel.n);
    return { kind: "stop", stop: { end: "cancelled", reason: cancel.value } };
  }
  const ending = undo.size === 0 ? asked : keepable(codec, runId, asked);
  if (ending.kind !== "failed" || undo.size === 0) return { kind: "ended", ending };
  const reason = failurePayload(codec, ending.error, `failure of run ${runId}`);
  return { kind: "stop", stop: { end: "failed", reason } };
}

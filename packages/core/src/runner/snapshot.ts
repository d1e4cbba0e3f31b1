import type { Codec } from "../model/payload.ts";
import type { DocumentChange, StoredDocument } from "../model/transition.ts";
import type { Command } from "../workflow/command.ts";
import type { Warned } from "./limits.ts";
import { readPayload } from "./read-payload.ts";

/** The stored state of a program after record `seq`. */
export interface Snapshot {
  /** Warnings whose records may be before the snapshot. */
  readonly warned?: Warned;
  readonly seq: number;
  readonly at: number;
  readonly state: unknown;
  /** The run's edition. Omitted means 0. */
  readonly edition?: number;
  /** The time of the last redirecting operator action; its record may be before the snapshot. */
  readonly redirectedAt?: number | null;
  /** Failed attempts of open steps, by location; their records may be before the snapshot. */
  readonly retries: Readonly<Record<string, { readonly attempts: number; readonly retryAt: number }>>;
}

export function writeSnapshot(codec: Codec, runId: string, snapshot: Snapshot): DocumentChange {
  const { seq, ...rest } = snapshot;
  const body = codec.encode(rest, `snapshot of run ${runId}`);
  return { put: { kind: "snapshot", id: runId, runId, body, attributes: { a: String(seq) } } };
}

export function readSnapshot(codec: Codec, document: StoredDocument): Snapshot {
  const rest = readPayload(codec, document.body, "the snapshot") as Omit<Snapshot, "seq">;
  return { ...rest, seq: Number(document.attributes.a) };
}

/** Returns the failed attempts of the open steps. */
export function openRetries(commands: Iterable<Command>): Snapshot["retries"] {
  const retries: Record<string, { attempts: number; retryAt: number }> = {};
  for (const command of commands) {
    if (command.kind !== "step" || command.attempts === 0) continue;
    retries[command.location] = { attempts: command.attempts, retryAt: command.retryAt };
  }
  return retries;
}

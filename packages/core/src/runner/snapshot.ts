import type { Codec } from "../model/payload.ts";
import type { DocumentChange, StoredDocument } from "../model/transition.ts";
import type { Command } from "../workflow/command.ts";
import type { Warned } from "./limits.ts";
import type { SessionState } from "./session-state.ts";

/** The state of a program that is data, after the record `seq` was delivered to it. */
export interface Snapshot {
  /** Warnings whose records may lie before the snapshot. */
  readonly warned?: Warned;
  readonly seq: number;
  readonly at: number;
  readonly state: unknown;
  /** As its host had it. Left out by those who knew of none. */
  readonly edition?: number;
  /** When an operator last sent the run another way: the record of it may lie before the snapshot. */
  readonly turnedAt?: number | null;
  /** Tries of steps that are open still, by location: their records may lie before the snapshot. */
  readonly retries: Readonly<Record<string, { readonly attempts: number; readonly retryAt: number }>>;
}

export function writeSnapshot(codec: Codec, runId: string, snapshot: Snapshot): DocumentChange {
  const { seq, ...rest } = snapshot;
  const body = codec.encode(rest, `snapshot of run ${runId}`);
  return { put: { kind: "snapshot", id: runId, runId, body, attributes: { a: String(seq) } } };
}

/** Has a snapshot written with what is to be committed next. */
export function keepSnapshot(
  { open, pending, codec, limits, turnedAt }: SessionState,
  runId: string,
  place: Pick<Snapshot, "seq" | "at" | "edition" | "state">,
): void {
  const retries = openRetries(open.byLocation.values());
  const warned = limits === null ? {} : { warned: limits.warned };
  pending.document(writeSnapshot(codec, runId, { ...place, turnedAt, retries, ...warned }));
}

export function readSnapshot(codec: Codec, document: StoredDocument): Snapshot {
  const rest = codec.decode(document.body) as Omit<Snapshot, "seq">;
  return { ...rest, seq: Number(document.attributes.a) };
}

/** The tries of the steps among `commands` that have failed at least once. */
export function openRetries(commands: Iterable<Command>): Snapshot["retries"] {
  const retries: Record<string, { attempts: number; retryAt: number }> = {};
  for (const command of commands) {
    if (command.kind !== "step" || command.attempts === 0) continue;
    retries[command.location] = { attempts: command.attempts, retryAt: command.retryAt };
  }
  return retries;
}

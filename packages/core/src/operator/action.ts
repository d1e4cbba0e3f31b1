import { PawlError } from "../model/errors.ts";
import { checkName } from "../model/names.ts";
import type { RewriteOp } from "../model/op.ts";
import {
  type OperatorAction,
  type OperatorActionKind,
  operatorActionOf,
  operatorRecord,
} from "../model/operator-action.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, NewRecord } from "../model/record.ts";
import type { Undo } from "../model/run.ts";
import type { JournalChange, Post } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";

/** Who did it and why, for the journal; and an id that makes doing it again harmless. */
export interface ActOptions {
  readonly id?: string;
  readonly by?: string;
  readonly why?: string;
}

export interface RewindOptions extends ActOptions {
  /** What becomes of children that were started in what is dropped. Default `cancel`. */
  readonly children?: "cancel" | "detach";
  /** What becomes of messages and events that were received in what is dropped. Default `redeliver`. */
  readonly messages?: "redeliver" | "drop";
}

/** What a rewind did. */
export interface Rewound {
  /** How many records were dropped. */
  readonly records: number;
  /** The children that were started in what was dropped. */
  readonly children: readonly string[];
  /** How many messages and events lie in the inbox again. */
  readonly messages: number;
}

/** What is written of an act: what was asked for, and what came of it. */
export interface ActNote<Result> extends OperatorAction {
  readonly result: Result;
}

/** What is to be made of a run that was read. */
export interface Planned<Result> {
  readonly change: Omit<JournalChange, "seen">;
  readonly posts: readonly Post[];
  readonly version: number | null;
  readonly undo: Undo;
  readonly result: Result;
  /** The run begins again, with this. */
  readonly restart?: NonNullable<RewriteOp["restart"]>;
}

export function actId(options: ActOptions, fresh: () => string): string {
  return options.id === undefined ? fresh() : checkName(options.id, "id of the act");
}

export function noteAct<Result>(
  codec: Codec,
  kind: OperatorActionKind,
  { id, target, result }: { readonly id: string; readonly target: string; readonly result: Result },
  options: ActOptions,
  at: number,
): NewRecord {
  const note: ActNote<Result> = { id, by: options.by ?? null, why: options.why ?? null, target, result };
  return operatorRecord(kind, codec.encode(note, `act ${kind}`), { startedAt: at, at });
}

/** What came of this very act, if it was done before. The same id for another act is a mistake. */
export function actBefore<Result>(
  codec: Codec,
  records: readonly JournalRecord[],
  { id, kind, target }: { readonly id: string; readonly kind: OperatorActionKind; readonly target: string },
): Result | null {
  for (const record of records) {
    const done = operatorActionOf(record);
    if (done === null || done === "origin") continue;
    const note = codec.decode(record.payload) as ActNote<Result>;
    if (note.id !== id) continue;
    if (done === kind && note.target === target) return note.result;
    throw new PawlError(
      "OPTION_INVALID",
      `the id ${id} belongs to another act: ${done} of ${note.target} at record ${record.seq}; nothing was done`,
    );
  }
  return null;
}

export function withoutSeq({ seq: _, ...record }: JournalRecord): NewRecord {
  return record;
}

/** A run with all of its records, for who changes or copies a history. */
export interface WholeRun extends Omit<Loaded, "acts"> {
  readonly records: readonly JournalRecord[];
}

export function wholeRun({ run, snapshot, records, inbox }: Loaded): WholeRun {
  return { run, snapshot, records: [...records], inbox };
}

import { PawlError } from "../model/errors.ts";
import type { RewriteOp } from "../model/op.ts";
import {
  type OperatorAction,
  type OperatorActionKind,
  operatorActionOf,
  operatorRecord,
} from "../model/operator-action.ts";
import { kinds, type OptionKinds } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, NewRecord } from "../model/record.ts";
import type { Undo } from "../model/run.ts";
import type { JournalChange, Post } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";

export interface ActOptions {
  /** Identifies the action: a repeated call with the same id changes nothing and returns the same result. Default: a new id. */
  readonly id?: string;
  /** The user who performs the action. Stored in the journal. */
  readonly by?: string;
  /** The reason. Stored in the journal. */
  readonly why?: string;
}

/** The kinds of these options, for each table that has them. */
export const ACT_KINDS = { id: kinds.name, by: kinds.text, why: kinds.text } as const satisfies OptionKinds<ActOptions>;

/** A message or event that a run has received. */
export interface ReceivedEntry {
  readonly kind: "message" | "event";
  /** The name of the message, or the topic of the event. */
  readonly name: string;
}

export interface RewindOptions extends ActOptions {
  /** Whether children started by dropped records are cancelled or keep running. Default `cancel`. */
  readonly children?: "cancel" | "detach";
  /** Whether messages and events received by dropped records return to the inbox; a function selects them. Default `redeliver`. */
  readonly messages?: "redeliver" | "drop" | ((received: ReceivedEntry) => boolean);
}

/** The result of a rewind or retry. */
export interface Rewound {
  /** The number of dropped records. */
  readonly records: number;
  /** Ids of the children that the dropped records started. */
  readonly children: readonly string[];
  /** Ids of the children that a retry reopened at their failure. The run waits for them again. */
  readonly reopened: readonly string[];
  /** The number of messages and events that were returned to the inbox. */
  readonly messages: number;
}

/** The payload of an operator record: the request and its result. */
interface ActionNote<Result> extends OperatorAction {
  readonly result: Result;
}

/** The change that an operator action makes to a loaded run. */
export interface Planned<Result> {
  readonly change: Omit<JournalChange, "seen">;
  readonly posts: readonly Post[];
  readonly version: number | null;
  readonly undo: Undo;
  readonly result: Result;
  /** Starts the run again as a new generation. */
  readonly restart?: NonNullable<RewriteOp["restart"]>;
}

export function actionId(options: ActOptions, fresh: () => string): string {
  return options.id ?? fresh();
}

export function actionRecord<Result>(
  codec: Codec,
  kind: OperatorActionKind,
  { id, target, result }: { readonly id: string; readonly target: string; readonly result: Result },
  options: ActOptions,
  at: number,
): NewRecord {
  const note: ActionNote<Result> = { id, by: options.by ?? null, why: options.why ?? null, target, result };
  return operatorRecord(kind, codec.encode(note, `result of the ${kind}`), { startedAt: at, at });
}

/** The result of the action with this id if the journal has it, otherwise null. Throws if the id belongs to another action. */
export function earlierResult<Result>(
  codec: Codec,
  records: readonly JournalRecord[],
  { id, kind, target }: { readonly id: string; readonly kind: OperatorActionKind; readonly target: string },
): Result | null {
  for (const record of records) {
    const done = operatorActionOf(record);
    if (done === null || done === "origin") continue;
    const note = codec.decode(record.payload, `operator action ${record.seq}`) as ActionNote<Result>;
    if (note.id !== id) continue;
    if (done === kind && note.target === target) return note.result;
    throw new PawlError(
      "OPTION_INVALID",
      `id ${id} belongs to another operator action: ${done} of ${note.target} at record ${record.seq}; use another id`,
    );
  }
  return null;
}

export function withoutSeq({ seq: _, ...record }: JournalRecord): NewRecord {
  return record;
}

/** A run with all of its records. */
export interface WholeRun extends Omit<Loaded, "operatorRecords"> {
  readonly records: readonly JournalRecord[];
}

export function wholeRun({ run, snapshot, records, inbox }: Loaded): WholeRun {
  return { run, snapshot, records: [...records], inbox };
}

export interface PauseOptions {
  readonly reason?: string;
  /** Aborts the running step bodies; they run again after the resume. Default: they end first, and their results are recorded. */
  readonly now?: boolean;
}

import { PROCESS_ERRORS } from "./process-errors.ts";
import { TESTING_ERRORS } from "./testing-errors.ts";

/** The catalog of error codes: their meaning and their remedy. The docs page is generated from it. `status` is the HTTP status. */
export const ERRORS = {
  RUN_NOT_FOUND: {
    status: 404,
    means: "No run has this id.",
    fix: "Check the id, or whether retention has removed the run.",
  },
  RUN_EXISTS: {
    status: 409,
    means: "A run with this id exists, and `onConflict` is `fail`, or its workflow or input differs.",
    fix: 'Choose another id, or pass `onConflict: "use"` to get the run that exists.',
  },
  RUN_REPLACED: {
    status: 409,
    means:
      "This generation of a run has ended, and the run has started again. It can be read and forked, and not be reopened.",
    fix: "Fork the generation, or call the method on the run itself.",
  },
  RUN_ENDED: {
    status: 409,
    means: "The run is completed, failed or cancelled; this operation needs an open run.",
    fix: "Start a new run, or rewind this one.",
  },
  RUN_FAILED: {
    status: 409,
    means: "`result()` was called on a run that failed. `cause` is the failure.",
    fix: "Read the cause and the run's journal.",
  },
  RUN_CANCELLED: {
    status: 409,
    means: "`result()` was called on a run that was cancelled, or a step's `signal` was aborted because of the cancel.",
    fix: "Nothing, if the cancel was intended.",
  },
  RESULT_TIMEOUT: {
    status: 504,
    means: "The run did not end within the `timeout` of `result`. The run continues.",
    fix: "Call `result` again later, or raise the timeout.",
  },
  RUN_TERMINATED: {
    status: 409,
    means:
      "The cause of `RUN_CANCELLED`: the run was terminated. It ended at once, and its steps were not rolled back.",
    fix: "Nothing, if the termination was intended. Otherwise retry the run from a record with `rewind`.",
  },
  RUN_PAUSED: {
    status: 409,
    means:
      "`result()` was called on a run that has paused itself, and `cause` says why; or the reason that an operator paused a run.",
    fix: "Remove the cause, then resume the run. `result({ waitWhilePaused: true })` waits for that.",
  },
  RUN_NOT_PAUSED: {
    status: 409,
    means: "Only a paused run can be resumed.",
    fix: "Nothing to do: the run is not paused.",
  },
  RUN_NOT_FAILED: {
    status: 409,
    means: "Only a failed or cancelled run can be retried.",
    fix: "Resume a paused run. Rewind a completed run to the record from which it should continue.",
  },
  RUN_OPEN: {
    status: 409,
    means: "Only an ended run can be deleted.",
    fix: "Cancel or terminate the run first.",
  },
  RUN_NEEDED: {
    status: 409,
    means: "The run has children, or a run above it is open, so it cannot be deleted.",
    fix: "Delete it with `children: true`, or after the runs above it have ended.",
  },
  RUN_UNDOING: {
    status: 409,
    means: "The run is compensating; its history cannot be changed until it has ended.",
    fix: "Wait until the run has ended, then rewind it.",
  },
  RUN_UNDOABLE: {
    status: 409,
    means: "The run has completed steps with rollbacks, or open children, which a restart would forget.",
    fix: "Let the run continue, migrate it with its journal, or cancel it and start another.",
  },
  RUN_BUSY: {
    status: 409,
    means: "The run kept changing while its history was to be changed.",
    fix: "Pause the run first, then repeat the call with the same id.",
  },
  RECORD_NOT_FOUND: {
    status: 404,
    means: "The run's journal has no record at this location or seq. A loop may have removed it with an old iteration.",
    fix: "Read the run's journal, and pass a location or seq that is in it. 0 is the beginning.",
  },
  STEP_UNDONE: {
    status: 409,
    means: "The journal that would remain contains a step that was rolled back.",
    fix: "Rewind further: to the step that the message names, or to an earlier record.",
  },
  CHILD_OPEN: {
    status: 409,
    means: "A child of the run is still open, and its end could not be delivered to the changed run.",
    fix: "Wait until the child has ended, or choose a record before it was started.",
  },
  CHILD_GONE: {
    status: 409,
    means: "Retention has removed a child, and the run would wait for its end.",
    fix: "Choose a record before the child was started, or keep ended runs longer (`retention`).",
  },
  WORKFLOW_UNKNOWN: {
    status: 400,
    means: "This engine has no code for this version of the workflow.",
    fix: "Register the workflow, or call an engine that has it.",
  },
  WORKFLOW_DUPLICATE: {
    status: 400,
    means: "Two workflows with the same name and version were registered.",
    fix: "Change the name or the version of one.",
  },
  HISTORY_DIVERGED: {
    status: 409,
    means:
      "The code requested an operation that the journal does not have. The run is paused and its journal is unchanged.",
    fix: "Deploy code that is compatible with the journal, then resume the run. The message contains the location, the record and the request.",
  },
  CTX_IN_STEP: {
    status: 400,
    means:
      "`ctx` was used inside the body of a step, a transaction or a rollback. Replay executes no bodies, so it would miss the operation.",
    fix: "Call `ctx` in the workflow function, before or after the step. The message contains the step and the operation.",
  },
  CODE_ERROR: {
    status: 409,
    means:
      "The code of a workflow threw a programming error, such as a TypeError, outside a step body. The run is paused and nothing is undone.",
    fix: 'Deploy fixed code, then resume the run. With another `revision` it resumes by itself. `codeErrors: "fail"` makes such a run fail.',
  },
  RUN_DURATION_EXCEEDED: {
    status: 422,
    means: "The run took longer than its `maxRunDuration`, so it failed.",
    fix: "Read its journal to see where the time went, or raise `maxRunDuration` of the workflow.",
  },
  DEADLINE_EXCEEDED: {
    status: 422,
    means:
      "The run had not ended at its `deadline`, so it failed. A child has its own deadline or that of its parent, whichever is earlier.",
    fix: "Read its journal to see where the time went, or start it with a later `deadline`. A retry lifts the deadline.",
  },
  RUN_EXPIRED: {
    status: 422,
    means: "The run had not started within its `ttl`, so it failed without starting.",
    fix: "Start workers that have its workflow, raise their `concurrency`, or start the run with a longer `ttl`.",
  },
  SUSPEND_DURATION_EXCEEDED: {
    status: 422,
    means: "The run was suspended for longer than its `maxSuspendDuration`, so it failed.",
    fix: "Give its waits timeouts, or raise `maxSuspendDuration` of the workflow.",
  },
  JOURNAL_RECORDS_EXCEEDED: {
    status: 422,
    means: "The run's journal has more records than `maxJournalRecords`, so the run failed.",
    fix: "Use `ctx.loop` or `ctx.continueAs` for repetition, or raise `maxJournalRecords` of the workflow.",
  },
  POISONED: {
    status: 500,
    means:
      "The run lost its worker again and again without progress, the last times when no other run was executed beside it. So it failed.",
    fix: "The worker crashed, or a step blocked its event loop longer than the lease: the message names that step if it is known. Otherwise find the cause in the step after the run's last record.",
  },
  STEP_TIMEOUT: {
    status: 504,
    means: "An attempt of a step took longer than its `timeout`.",
    fix: "Raise the timeout, make the step body observe `signal`, or set `retryOnTimeout`.",
  },
  CHILD_FAILED: {
    status: 500,
    means: "A child run failed or was cancelled. `cause` is its failure.",
    fix: "Catch the error, or start the child with `propagateFailure: false` to get `undefined` instead of its output.",
  },
  ROLLBACK: {
    status: 500,
    means: "User code threw a RollbackError: the run is compensated and fails. It is never retried.",
    fix: "See the message.",
  },
  JOIN_FAILED: {
    status: 500,
    means: "At least one branch of a join failed. `errors` contains the error of each failed branch, by name.",
    fix: "Catch the error, or use `ctx.try` in the branches that may fail.",
  },
  RACE_FAILED: {
    status: 500,
    means: "Every branch of a race failed. `errors` contains the error of each branch, by name.",
    fix: "Catch the error, or use `ctx.try` in the branches that may fail.",
  },
  ITERATION_ENDED: {
    status: 409,
    means: "A step's signal was aborted because its loop iteration ended without awaiting it.",
    fix: "Await every operation in the iteration that starts it, or start it outside the loop.",
  },
  RACE_LOST: {
    status: 409,
    means: "A step's signal was aborted because another branch of its race won.",
    fix: "Nothing to do: the result of the step is discarded.",
  },
  CRITICAL: {
    status: 500,
    means: "User code threw a CriticalError. It is never retried.",
    fix: "See the message.",
  },
  OWNERSHIP_LOST: {
    status: 409,
    means: "Another worker has taken over the run. Results that this worker had not committed were discarded.",
    fix: "Nothing to do: the run continues on the other worker. If it happens often, the lease is too short or a step blocks the event loop.",
  },
  ENGINE_STOPPED: {
    status: 503,
    means: "The engine is shut down or shutting down.",
    fix: "Create a new engine.",
  },
  ENGINE_BROKEN: {
    status: 500,
    means: "An internal invariant was violated, and the engine stopped before it wrote an invalid state.",
    fix: "Report the message and restart the process, or let `exitCodeWhenBroken` end it. A restart is safe: nothing invalid was written.",
  },
  STORE_UNAVAILABLE: {
    status: 503,
    means:
      "The store failed every attempt of `storageRetryPolicy`, or did not answer within `storageTimeout`. It is unknown whether the operation took effect.",
    fix: "Repeat the call with the same id when the store is back; the id prevents a second effect.",
  },
  STORE_UNSUPPORTED: {
    status: 500,
    means:
      "The store cannot be used: its library is too old, its schema is newer than this release, or its driver is not installed.",
    fix: "Read the message; it states the reason and the remedy.",
  },
  STORE_LOST: {
    status: 503,
    means:
      "The store's database file was deleted, moved or replaced while it was open, so further writes would be lost. The engine stopped.",
    fix: "Put the file in its place, then restart the process. Stop all processes before you move or replace the file.",
  },
  STORE_FOREIGN_DRIVER: {
    status: 503,
    means:
      "Another copy of the SQLite library in this process, or code that reads it as a plain file, has opened the store's file. That removes the store's locks, and commits could be lost, so the engine stopped.",
    fix: "Open the file with `store.database()` or with `openDatabase` of `pawl/sqlite`, which use the library of the store, then restart the process.",
  },
  PLATFORM_UNSUPPORTED: {
    status: 500,
    means: "`pawl` was imported in a version of Node that it does not support.",
    fix: "Install Node 20.19 or newer.",
  },
  RESOURCE_UNAVAILABLE: {
    status: 503,
    means:
      "A resource of a run could not be acquired, so the run failed; or its `value` was used while it was not acquired.",
    fix: "Read the cause, raise the retries of the resource, and use its `value` only inside steps.",
  },
  TX_UNSUPPORTED: {
    status: 500,
    means: "The store does not support transactions with user code.",
    fix: "Use SQLite or PostgreSQL, or the memory store in tests. Otherwise use a step with its idempotency key.",
  },
  TX_INVALID: {
    status: 400,
    means: "The value passed as `tx` is not an open transaction on the store's database.",
    fix: "Read the message; it states the problem. Nothing was changed.",
  },
  TX_FOREIGN_DRIVER: {
    status: 400,
    means:
      "The connection passed as `tx` uses another copy of the SQLite library than the store. Two copies in one process do not exclude each other: a commit of one can erase a commit of the other.",
    fix: "Roll the transaction back, and use a connection of `store.database()` or of `openDatabase` of `pawl/sqlite`. Nothing was done.",
  },
  TX_ASYNC: {
    status: 400,
    means:
      "The transaction function returned a promise, but this store runs transactions synchronously. It was rolled back.",
    fix: "Await in a step before the transaction, and pass the value in.",
  },
  TX_STATEMENT: {
    status: 400,
    means:
      "A statement in a transaction would end the transaction or affect more than it, or is more than one statement.",
    fix: "Pass one statement that reads or writes rows or tables.",
  },
  PAYLOAD_UNSUPPORTED: {
    status: 400,
    means: "A value contains something that cannot be stored without loss. The message contains its path.",
    fix: "Pass plain data: JSON, undefined, Date, BigInt, Map, Set, Uint8Array, Buffer, Error.",
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    means:
      "A value is larger than `payloadBytesMax`, or one operation, such as a fork, is larger than a commit can be.",
    fix: "Store it elsewhere and pass a reference, or raise the limit.",
  },
  PAYLOAD_UNREADABLE: {
    status: 500,
    means:
      "A stored value cannot be decoded: it was written with another codec or key, or is damaged. A run that needs it is paused, and nothing is lost.",
    fix: "Start workers with the codec that wrote it, then resume the paused runs.",
  },
  CODEC_MISMATCH: {
    status: 500,
    means: "The engine's codec cannot read what engines on this store have written. The engine did not open.",
    fix: "Configure the codec of the store. If old values may become unreadable, open one engine with `acceptCodec: true`.",
  },
  SCHEMA_REFUSED: {
    status: 400,
    means: "A value does not match its schema. The message lists the issues with their paths.",
    fix: "Correct the value or the schema.",
  },
  ID_INVALID: {
    status: 400,
    means:
      "An id is empty, is longer than 255 characters, or contains `//`, a control character or half a surrogate pair.",
    fix: "Use another id.",
  },
  NAME_INVALID: {
    status: 400,
    means: "A name is empty, is longer than 255 characters, or contains a control character or half a surrogate pair.",
    fix: "Use another name.",
  },
  DURATION_INVALID: {
    status: 400,
    means: "A duration is not an integer number of ms ≥ 0, a text such as `10 minutes`, or ISO 8601 such as `PT10S`.",
    fix: "Correct the duration.",
  },
  OPTION_INVALID: {
    status: 400,
    means: "An option has a value that is not allowed.",
    fix: "The message states which values are allowed.",
  },
  CURSOR_INVALID: {
    status: 400,
    means: "A page cursor was not returned by this list.",
    fix: "Pass the cursor of the previous page unchanged, with the same query.",
  },
  LETTER_NOT_FOUND: {
    status: 404,
    means: "No dead letter has this id. It may have been replayed or removed.",
    fix: "List the dead letters.",
  },
  RUN_HOSTED: {
    status: 409,
    means: "`runWorkflow` was called for a namespace that this process already hosts.",
    fix: "Use the handle you already have: `wake` it, or `evict` it first.",
  },
  ...PROCESS_ERRORS,
  ...TESTING_ERRORS,
} as const satisfies Record<string, { status: number; means: string; fix: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** The error that the public API throws. Test its `code`; the message is for reading. */
export class PawlError extends Error {
  override readonly name = "PawlError";
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown by user code when retries are useless: the step fails permanently. */
export class CriticalError extends Error {
  override readonly name = "CriticalError";
  readonly code = "CRITICAL";
}

/** Thrown by user code to roll back the run's steps and fail the run. `ctx.try` does not catch it. */
export class RollbackError extends Error {
  override readonly name = "RollbackError";
  readonly code = "ROLLBACK";
}

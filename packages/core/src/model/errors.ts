import { PROCESS_ERRORS } from "./process-errors.ts";
import { TESTING_ERRORS } from "./testing-errors.ts";

/** The catalog: every code, what it means, what to do. The docs page is generated from it. `status` is for HTTP. */
export const ERRORS = {
  RUN_NOT_FOUND: {
    status: 404,
    means: "No run has this id.",
    fix: "Check the id, or whether retention has removed the run.",
  },
  RUN_EXISTS: {
    status: 409,
    means: "A run with this id exists, and the conflict policy is `fail`, or its workflow or input differs.",
    fix: 'Choose another id, or pass `onConflict: "use"` to get the run that exists.',
  },
  RUN_ENDED: {
    status: 409,
    means: "The run is completed, failed or cancelled, and this can't be done to a run that has ended.",
    fix: "Start another run, or rewind this one.",
  },
  RUN_FAILED: {
    status: 409,
    means: "`result()` was asked of a run that failed. `cause` holds the failure.",
    fix: "Look at the cause and at the run's journal.",
  },
  RUN_CANCELLED: {
    status: 409,
    means: "`result()` was asked of a run that was cancelled, or a step body was told so through its signal.",
    fix: "Nothing, if the cancellation was meant.",
  },
  RUN_PAUSED: {
    status: 409,
    means: "The operation needs a run that is not paused.",
    fix: "Resume the run first.",
  },
  RUN_NOT_PAUSED: { status: 409, means: "Only a paused run can be resumed.", fix: "Nothing: the run is not paused." },
  RUN_NOT_FAILED: {
    status: 409,
    means: "Only a failed run can be retried.",
    fix: "Rewind the run to the place where it is to go another way.",
  },
  RUN_UNDOING: {
    status: 409,
    means: "The run undoes what it has done; until that is over its history stays as it is.",
    fix: "Wait for its end, then rewind it.",
  },
  RUN_UNDOABLE: {
    status: 409,
    means: "The run has done what it may have to undo; one that begins again would not know of it.",
    fix: "Let the run go on, migrate it with its journal, or cancel it and start another.",
  },
  RUN_BUSY: {
    status: 409,
    means: "The run changed each time before its history could be.",
    fix: "Pause the run first, then do it again with the same id.",
  },
  RECORD_NOT_FOUND: {
    status: 404,
    means:
      "The run's journal holds no record at this location or seq, or not any more: loops drop what they need no longer.",
    fix: "Look at the run's journal, and name a location or seq that is in it; 0 is the beginning.",
  },
  STEP_UNDONE: {
    status: 409,
    means: "A step that was undone would be taken as done.",
    fix: "Go further back: to the step that the message names, or before it.",
  },
  CHILD_OPEN: {
    status: 409,
    means: "A child of the run is open, and its end could not be told to where it would be waited for.",
    fix: "Wait until the child has ended, or choose a place before it was started.",
  },
  CHILD_GONE: {
    status: 409,
    means: "A child whose end the run would wait for has been removed since it ended.",
    fix: "Choose a place before the child was started, or keep runs longer (`retention`).",
  },
  WORKFLOW_UNKNOWN: {
    status: 400,
    means: "This engine has no code for the workflow in this version.",
    fix: "Give the engine the workflow, or ask an engine that has it.",
  },
  WORKFLOW_DUPLICATE: {
    status: 400,
    means: "Two workflows of one name and version were registered.",
    fix: "Give each its own name, or its own version.",
  },
  HISTORY_DIVERGED: {
    status: 409,
    means: "The code asked for something else than its journal holds. The run is paused; its journal is unharmed.",
    fix: "Deploy code that fits the journal, then resume the run. The message names the location and both sides.",
  },
  RUN_DURATION_EXCEEDED: {
    status: 422,
    means: "The run took longer than its maxRunDuration, so it was failed.",
    fix: "Look at where it was, or give its workflow a longer maxRunDuration.",
  },
  SUSPEND_DURATION_EXCEEDED: {
    status: 422,
    means: "The run was suspended for longer than its maxSuspendDuration, so it was failed.",
    fix: "Give its waits timeouts, or give its workflow a longer maxSuspendDuration.",
  },
  JOURNAL_RECORDS_EXCEEDED: {
    status: 422,
    means: "The run's journal holds more records than its maxJournalRecords, so it was failed.",
    fix: "Use ctx.loop or ctx.continueAs where it repeats itself, or give its workflow a higher maxJournalRecords.",
  },
  POISONED: {
    status: 500,
    means: "The run ended its workers again and again without making progress, so it was parked as failed.",
    fix: "Find what ends the process in the step that its journal stops before.",
  },
  STEP_TIMEOUT: {
    status: 504,
    means: "A step's body took longer than its `timeout`.",
    fix: "Raise the timeout, make the body watch `signal`, or set `retryOnTimeout`.",
  },
  CHILD_FAILED: {
    status: 500,
    means: "A child run failed or was cancelled. `cause` holds its failure.",
    fix: "Catch it, or start the child with `propagateFailure: false` to get `undefined` in place of its output.",
  },
  ROLLBACK: {
    status: 500,
    means: "User code threw a RollbackError: what the run did is to be undone. It is never retried.",
    fix: "See the message.",
  },
  JOIN_FAILED: {
    status: 500,
    means: "At least one branch of a join failed. `errors` holds the error of each, by name.",
    fix: "Catch it, or put `ctx.try` around what may fail.",
  },
  RACE_FAILED: {
    status: 500,
    means: "Every branch of a race failed. `errors` holds the error of each, by name.",
    fix: "Catch it, or put `ctx.try` around what may fail.",
  },
  ROUND_OVER: {
    status: 409,
    means: "A step's signal was aborted because the round of the loop that began it has ended without waiting for it.",
    fix: "Await in a round what it begins, or begin it outside of the loop.",
  },
  RACE_LOST: {
    status: 409,
    means: "A step's signal was aborted because another branch of its race has won.",
    fix: "Nothing: what the step brings is dropped.",
  },
  CRITICAL: {
    status: 500,
    means: "User code threw a CriticalError: it is never retried.",
    fix: "See the message.",
  },
  OWNERSHIP_LOST: {
    status: 409,
    means: "Another worker has taken the run over. What this one did for it since then was dropped.",
    fix: "Nothing: the run goes on elsewhere. Frequent losses mean that the lease is too short, or a step blocks the loop.",
  },
  ENGINE_STOPPED: { status: 503, means: "The engine is shut down, or shutting down.", fix: "Create another engine." },
  ENGINE_BROKEN: {
    status: 500,
    means: "A rule that must always hold did not, and the engine stopped before it could write a wrong state.",
    fix: "Report it with the message. Restarting is safe: nothing wrong was written.",
  },
  STORE_UNAVAILABLE: {
    status: 503,
    means: "The store did not answer within `storageRetryPolicy`. Whether the operation happened is not known.",
    fix: "Repeat it with the same id once the store is back: an id makes it happen once.",
  },
  STORE_UNSUPPORTED: {
    status: 500,
    means: "The store can't keep its promises as it is: an old library, a newer schema, a driver that is missing.",
    fix: "The message says which and what to install or change.",
  },
  RESOURCE_UNAVAILABLE: {
    status: 503,
    means:
      "A resource of a run could not be acquired, so the run failed; or it was used while the run does not hold it.",
    fix: "Look at the cause, raise the retries of the resource, and use its `value` inside steps.",
  },
  TX_UNSUPPORTED: {
    status: 500,
    means: "The store has no transactions that user code could take part in.",
    fix: "Use a store that has: SQLite, or memory in tests. Or do the work in a step, with its idempotency key.",
  },
  TX_INVALID: {
    status: 400,
    means: "What was given as `tx` is no open transaction on the store's own database, or it is over.",
    fix: "The message says what is wrong with it. Nothing was done.",
  },
  TX_ASYNC: {
    status: 400,
    means:
      "The body of a transaction returned a promise, and the store runs bodies that do not wait. It was rolled back.",
    fix: "Do what has to be awaited in a step before it, and hand the value in.",
  },
  TX_STATEMENT: {
    status: 400,
    means: "A statement was given to a transaction that would end it, reach beyond it, or is more than one.",
    fix: "Give it one statement that reads or writes rows or tables.",
  },
  PAYLOAD_UNSUPPORTED: {
    status: 400,
    means: "A value holds something that would not come back the same. The message gives its path.",
    fix: "Pass plain data: JSON, undefined, Date, BigInt, Map, Set, Uint8Array, Error.",
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    means: "A value is larger than `payloadBytesMax`.",
    fix: "Store it elsewhere and pass a reference, or raise the limit.",
  },
  PAYLOAD_CORRUPT: {
    status: 500,
    means: "A stored value can't be read: it was damaged, or written with another codec.",
    fix: "Give the engine the codec that wrote it.",
  },
  SCHEMA_REFUSED: {
    status: 400,
    means: "A value does not fit the schema given for it. The message lists the issues with their paths.",
    fix: "Correct the value, or the schema.",
  },
  ID_INVALID: {
    status: 400,
    means: "An id is empty, longer than 255 characters, holds a control character or half a surrogate pair, or `//`.",
    fix: "Use another id.",
  },
  NAME_INVALID: {
    status: 400,
    means: "A name is empty, longer than 255 characters, or holds a control character or half a surrogate pair.",
    fix: "Use another name.",
  },
  DURATION_INVALID: {
    status: 400,
    means: "A duration is not a whole number of ms ≥ 0, a text such as `10 minutes`, or ISO 8601 such as `PT10S`.",
    fix: "Correct it.",
  },
  OPTION_INVALID: {
    status: 400,
    means: "An option has a value it can't have.",
    fix: "The message says which are allowed.",
  },
  CURSOR_INVALID: {
    status: 400,
    means: "A page cursor was not made by this list.",
    fix: "Pass the cursor of the page before, unchanged, with the same query.",
  },
  LETTER_NOT_FOUND: {
    status: 404,
    means: "No dead letter has this id: it never was one, or it was replayed or removed.",
    fix: "List the dead letters.",
  },
  RUN_HOSTED: {
    status: 409,
    means: "`runWorkflow` was called for a namespace that this process works on already.",
    fix: "Use the handle that you have: `wake` it, or `evict` it first.",
  },
  ...PROCESS_ERRORS,
  ...TESTING_ERRORS,
} as const satisfies Record<string, { status: number; means: string; fix: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** What the public API throws. Test `code`; the message says what happened, to which id, and what to do. */
export class PawlError extends Error {
  override readonly name = "PawlError";
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Thrown by user code to say: this fails for good, do not try again. */
export class CriticalError extends Error {
  override readonly name = "CriticalError";
  readonly code = "CRITICAL";
}

/** Thrown by user code to say: undo what this run did, and fail. No `ctx.try` takes it for a value. */
export class RollbackError extends Error {
  override readonly name = "RollbackError";
  readonly code = "ROLLBACK";
}

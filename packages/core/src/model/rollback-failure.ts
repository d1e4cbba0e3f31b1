import { type Failure, isFailure } from "./failure.ts";
import type { Codec } from "./payload.ts";
import { read } from "./payload-values.ts";
import type { Payload } from "./run.ts";

/** A rollback that failed finally. The effect of its step remains. */
export interface RollbackFailure {
  /** The location of the step. */
  readonly step: string;
  readonly error: Error;
}

/** The key of the rollback failures in the details of a run's failure. */
const DETAIL = "rollbackFailures";

/** Adds the rollback failures to a failure. `reason` is null if the run was cancelled without a reason. */
export function withRollbackFailures(codec: Codec, reason: Payload, failures: readonly RollbackFailure[]): Payload {
  if (failures.length === 0) return reason;
  const decoded = codec.decode(reason);
  const failure: Failure = isFailure(decoded)
    ? decoded
    : { name: "PawlError", code: "RUN_CANCELLED", message: "the run was cancelled" };
  const whole = { ...failure, details: { ...failure.details, [DETAIL]: failures } };
  try {
    return codec.encode(whole, "failures of rollbacks");
  } catch {
    return codec.encode({ ...failure, details: { [DETAIL]: failures.map(brief) } }, "failures of rollbacks");
  }
}

/** The longest chain of causes that is searched. A chain may be a cycle. */
const CAUSES_MAX = 100;

/**
 * Returns the failed rollbacks of a run, from the error that `result()` rejects with or from the error in the run's row. Empty if every
 * rollback succeeded.
 */
export function rollbackFailures(error: unknown): readonly RollbackFailure[] {
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    const found = read(current, DETAIL);
    if (Array.isArray(found)) return found as readonly RollbackFailure[];
    current = read(current, "cause");
  }
  return [];
}

function brief({ step, error }: RollbackFailure): RollbackFailure {
  return { step, error: new Error(error.message.slice(0, 200)) };
}

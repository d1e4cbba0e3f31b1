import { type Failure, isFailure } from "./failure.ts";
import type { Codec } from "./payload.ts";
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

/**
 * Returns the failed rollbacks of a run, from the error that `result()` rejects with or from the error in the run's row. Empty if every
 * rollback succeeded.
 */
export function rollbackFailures(error: unknown): readonly RollbackFailure[] {
  for (let current = error; typeof current === "object" && current !== null; ) {
    const found = (current as Record<string, unknown>)[DETAIL];
    if (Array.isArray(found)) return found as readonly RollbackFailure[];
    current = (current as { readonly cause?: unknown }).cause;
  }
  return [];
}

function brief({ step, error }: RollbackFailure): RollbackFailure {
  return { step, error: new Error(error.message.slice(0, 200)) };
}

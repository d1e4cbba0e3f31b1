import { type ErrorCode, PawlError } from "../model/errors.ts";

/** Codes of errors that no retry can cure: the database must not be used by this process any more. */
const FINAL: readonly ErrorCode[] = ["STORE_LOST", "STORE_FOREIGN_DRIVER", "STORE_UNSUPPORTED"];

/** Whether the error means that the store must not be used any more. The engine then stops, so that it acknowledges nothing that is lost. */
export function stopsEngine(error: unknown): error is PawlError {
  return error instanceof PawlError && FINAL.includes(error.code);
}

/**
 * The database could not be reached, or could not perform a call.
 *
 * - `notApplied`: the batch had no effect; for example, the file was busy or the disk full.
 * - `unknown`: the connection broke before the reply. The same batch is sent again.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly outcome: "notApplied" | "unknown";
  readonly code: "STORE_BUSY" | "STORE_FULL" | "STORE_UNAVAILABLE";
  constructor(code: StoreError["code"], outcome: StoreError["outcome"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.outcome = outcome;
  }
}

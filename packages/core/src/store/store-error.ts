/**
 * The database could not be reached or could not do its work.
 *
 * `notApplied`: the batch left no trace, e.g. the file was busy or the disk full. `unknown`: the connection broke before
 * the answer; the same batch is sent again.
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

import { briefFailure, type Failure, toFailure } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { Payload } from "../model/run.ts";

/** A failure as a payload. One that is too large to keep is kept in brief: a failure must never fail to be written. */
export function failurePayload(codec: Codec, thrown: unknown, what: string): Payload {
  const failure: Failure = toFailure(thrown);
  try {
    return codec.encode(failure, what);
  } catch {
    return codec.encode(briefFailure(failure), what);
  }
}

import { briefFailure, type Failure, toFailure } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { Payload } from "../model/run.ts";

/** Encodes a failure. One that is too large is shortened: storing a failure must not fail. */
export function failurePayload(codec: Codec, thrown: unknown, what: string): Payload {
  const failure: Failure = toFailure(thrown);
  try {
    return codec.encode(failure, what);
  } catch {
    return codec.encode(briefFailure(failure), what);
  }
}

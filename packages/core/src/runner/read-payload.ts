import { PawlError } from "../model/errors.ts";
import { type Codec, isUnreadable } from "../model/payload.ts";
import type { Payload } from "../model/run.ts";

const locations = new WeakMap<PawlError, string>();

/** Decodes a payload of a run. The error of one that cannot be read knows the location, so the run can be paused there. */
export function readPayload(codec: Codec, payload: Payload, location: string): unknown {
  // No closure, because a replay reads every record.
  try {
    return codec.decode(payload);
  } catch (error) {
    throw isUnreadable(error) ? unreadableAt(location, error) : error;
  }
}

/** Returns the location of a payload that cannot be read. Null for other errors. */
export function unreadableLocation(error: PawlError): string | null {
  return locations.get(error) ?? null;
}

/** Adds the location to the error of a payload that cannot be read. */
export function unreadableAt(location: string, { cause }: PawlError): PawlError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `the value at ${location} cannot be read: ${reason}`;
  const error = new PawlError("PAYLOAD_UNREADABLE", message, { cause });
  locations.set(error, location);
  return error;
}

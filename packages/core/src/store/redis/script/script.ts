import { EVENTS_LUA } from "./events.ts";
import { OUTBOX_LUA } from "./outbox.ts";
import { OWNERSHIP_LUA } from "./ownership.ts";
import { ARRIVALS_LUA } from "./partition-arrivals.ts";
import { KIN_LUA } from "./partition-reads.ts";
import { PLAIN_APPENDS_LUA } from "./plain-appends.ts";
import { POSTS_LUA } from "./posts.ts";
import { PRELUDE_LUA } from "./prelude.ts";
import { READING_LUA } from "./reading.ts";
import { RUN_ROWS_LUA } from "./run-rows.ts";
import { BELONGING_ROWS_LUA } from "./tables.ts";
import { TRANSITIONS_LUA } from "./transitions.ts";
import { WIRE_LUA } from "./wire.ts";
import { LOOKING_LUA } from "./worker-reads.ts";

/** Where things are in the head of a run, as it is packed. */
const HEAD_PLACES = [
  "KEY",
  "ID",
  "WORKFLOW",
  "VERSION",
  "START_ID",
  "CREATED_AT",
  "STATUS",
  "EPOCH",
  "TURN",
  "OWNER",
  "WAKE_AT",
  "INBOX_LAST",
  "BASE_SEQ",
  "GENERATION",
  "CLAIMS",
  "CLAIM_SEQ",
  "STARTED_AT",
  "ENDED_AT",
  "UNDO",
  "CONTROL_ID",
  "TOPICS",
  "WAITS",
  "PARENT",
  "ON_CLOSE",
  "DROPPED",
];

/**
 * Puts the number in the place of each such name. A script defines its functions each time it is run, and what that takes grows
 * with the number of outer variables that they use.
 */
export function withHeadPlaces(script: string): string {
  return script.replaceAll(/\[([A-Z_]+)\]/g, (whole, name: string) => {
    const place = HEAD_PLACES.indexOf(name) + 1;
    return place === 0 ? whole : `[${place}]`;
  });
}

/**
 * What the server runs. A script with a first line of this form is refused as a whole where it could not write all of it: it
 * never stops half-way for want of memory.
 */
export const WRITE_SCRIPT = withHeadPlaces(
  `#!lua${[
    PRELUDE_LUA,
    PLAIN_APPENDS_LUA,
    LOOKING_LUA,
    OUTBOX_LUA,
    RUN_ROWS_LUA,
    BELONGING_ROWS_LUA,
    EVENTS_LUA,
    POSTS_LUA,
    TRANSITIONS_LUA,
    WIRE_LUA,
    ARRIVALS_LUA,
    OWNERSHIP_LUA,
  ].join("")}`,
);

export const READ_SCRIPT = withHeadPlaces(`#!lua flags=no-writes${PRELUDE_LUA}${LOOKING_LUA}${KIN_LUA}${READING_LUA}`);

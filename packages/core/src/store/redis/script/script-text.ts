import { ARRIVALS_LUA } from "./arrivals.ts";
import { BELONGING_ROWS_LUA } from "./belonging-rows.ts";
import { EVENTS_LUA } from "./events.ts";
import { withHeadPlaces } from "./head-places.ts";
import { KIN_LUA } from "./kin.ts";
import { LOOKING_LUA } from "./looking.ts";
import { OUTBOX_LUA } from "./outbox.ts";
import { OWNERSHIP_LUA } from "./ownership.ts";
import { PLAIN_APPENDS_LUA } from "./plain-appends.ts";
import { POSTS_LUA } from "./posts.ts";
import { PRELUDE_LUA } from "./prelude.ts";
import { READING_LUA } from "./reading.ts";
import { RUN_ROWS_LUA } from "./run-rows.ts";
import { TRANSITIONS_LUA } from "./transitions.ts";
import { WIRE_LUA } from "./wire.ts";

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

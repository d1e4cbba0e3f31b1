import { CANCELLED_DOCUMENT, OPEN_DOCUMENT } from "../../../model/transition.ts";
import { LUA } from "./lua-sources.ts";

/** The fields of a packed run head, in order. Lua names them in brackets: `h[EPOCH]`. */
const HEAD_FIELDS = [
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
 * Replaces the names of head fields by their indexes, and the constants that Lua shares with the model. Lua locals would do, but a script
 * defines its functions at each call, and that takes longer the more outer variables they use.
 */
function withConstants(script: string): string {
  return script
    .replaceAll(/\[([A-Z_]+)\]/g, (whole, name: string) => {
      const index = HEAD_FIELDS.indexOf(name) + 1;
      return index === 0 ? whole : `[${index}]`;
    })
    .replaceAll("'OPEN_DOCUMENT'", `'${OPEN_DOCUMENT}'`)
    .replaceAll("'CANCELLED_DOCUMENT'", `'${CANCELLED_DOCUMENT}'`);
}

/**
 * The script of all writes. A script that begins with `#!lua` is refused as a whole if the server lacks memory; it never stops
 * halfway.
 */
export const WRITE_SCRIPT = withConstants(
  `#!lua\n${[
    LUA.prelude,
    LUA.plainAppends,
    LUA.workerReads,
    LUA.outbox,
    LUA.runRows,
    LUA.tables,
    LUA.applyEvent,
    LUA.applyPost,
    LUA.apply,
    LUA.readBatch,
    LUA.partitionArrivals,
    LUA.claim,
  ].join("")}`,
);

export const READ_SCRIPT = withConstants(
  `#!lua flags=no-writes\n${LUA.prelude}${LUA.workerReads}${LUA.partitionReads}${LUA.read}`,
);

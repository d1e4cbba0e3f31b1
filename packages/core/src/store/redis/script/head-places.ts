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

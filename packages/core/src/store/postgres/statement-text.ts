import { PawlError } from "../../model/errors.ts";

/** What may begin a statement of a transaction: none of these ends it. */
const ALLOWED =
  /^\s*(?:select|values|table|with|insert|update|delete|merge|create|alter|drop|truncate|explain|lock|copy|call|do)\b/i;
/** Comments before the first word. */
const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

const EXCERPT_MAX = 80;

/** Refuses what would end the transaction, or move it to another state. The server itself refuses more than one statement. */
export function checkStatement(sql: string): void {
  if (ALLOWED.test(sql.replace(COMMENTS, ""))) return;
  const line = sql.trim().replace(/\s+/g, " ").slice(0, EXCERPT_MAX);
  throw new PawlError(
    "TX_STATEMENT",
    `a transaction can't take this statement, which neither reads nor writes rows or tables: ${line}`,
  );
}

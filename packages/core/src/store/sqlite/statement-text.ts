import { PawlError } from "../../model/errors.ts";

/** What may begin a statement of a transaction: none of these ends it, or reaches beyond it. */
const ALLOWED = /^\s*(?:select|values|with|insert|replace|update|delete|create|alter|drop|explain)\b/i;
/** Strings, quoted names and comments. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/**
 * Refuses what a transaction does not take. A driver compiles no more than the first statement of a text, so a second one would
 * be passed over in silence; and a conflict clause that rolls back would take the whole batch with it.
 */
export function checkStatement(sql: string): void {
  const bare = sql.replace(QUOTED, (text) => (text.startsWith("--") || text.startsWith("/*") ? " " : " q "));
  const problem = problemOf(bare);
  if (problem === null) return;
  throw new PawlError("TX_STATEMENT", `a transaction can't take this statement, ${problem}: ${excerpt(sql)}`);
}

function problemOf(bare: string): string | null {
  if (!ALLOWED.test(bare)) return "which neither reads nor writes rows or tables";
  if (/;[\s;]*\S/.test(bare.replace(/[\s;]+$/, ""))) return "which is more than one";
  if (/\brollback\b/i.test(bare)) return "which may roll everything back";
  return null;
}

function excerpt(sql: string): string {
  const line = sql.trim().replace(/\s+/g, " ");
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}

import { isPlainName, KEYWORDS, normalName } from "./names.ts";
import { type FeelContext, type FeelValue, isContext, isList } from "./value.ts";

const DEPTH_MAX = 5;
const KEYS_MAX = 2_000;
/** Matches if the text can contain a name of several parts: two words side by side, or with an operator sign between them. */
const MAY_HOLD = /[\p{L}\p{N}_?][\s\-+*/'’.]+[\p{L}\p{N}_?]/u;

/**
 * Returns the names of the data that occur in the text and are not plain words. The data is not read if the text cannot contain
 * such a name. At most KEYS_MAX keys and DEPTH_MAX levels are read, and only the first item of a list.
 */
export function knownNames(text: string, data: FeelContext): readonly string[] {
  const flat = flatOf(text);
  if (flat === null) return NONE;
  const found = new Set<string>();
  let left = KEYS_MAX;
  const visit = (value: FeelValue, depth: number): void => {
    if (value === null || typeof value !== "object" || depth > DEPTH_MAX) return;
    if (isList(value)) visit(value[0] ?? null, depth + 1);
    else if (isContext(value)) {
      for (const name of Object.keys(value)) {
        left -= 1;
        if (left < 0) return;
        const isSpecial = !isPlainName(name) || KEYWORDS.has(name);
        if (isSpecial && flat.includes(name.replace(/\s+/g, ""))) found.add(normalName(name));
        visit(value[name] ?? null, depth + 1);
      }
    }
  };
  visit(data, 0);
  return found.size === 0 ? NONE : [...found].sort();
}

const NONE: readonly string[] = [];
const TEXTS_MAX = 5_000;
const texts = new Map<string, string | null>();

/** The text without white space. Null if it cannot contain a name of several parts. */
function flatOf(text: string): string | null {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= TEXTS_MAX) texts.clear();
  const flat = MAY_HOLD.test(text) ? text.replace(/\s+/g, "") : null;
  texts.set(text, flat);
  return flat;
}

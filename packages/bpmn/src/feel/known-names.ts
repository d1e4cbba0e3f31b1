import { isPlainName, KEYWORDS, normalName } from "./names.ts";
import { type FeelContext, type FeelValue, isContext, isList } from "./value.ts";

const DEPTH_MAX = 5;
const KEYS_MAX = 2_000;
/** A name can only be of several parts where two words stand side by side, or a sign stands between them. */
const MAY_HOLD = /[\p{L}\p{N}_?][\s\-+*/'’.]+[\p{L}\p{N}_?]/u;

/**
 * The names of the data that are no plain words and stand in the text. A text that can't hold any costs no look at the data, and
 * of large data only so much is looked at: a list's first item stands for all.
 */
export function knownIn(text: string, data: FeelContext): readonly string[] {
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
        const isOdd = !isPlainName(name) || KEYWORDS.has(name);
        if (isOdd && flat.includes(name.replace(/\s+/g, ""))) found.add(normalName(name));
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

/** The text without white space; null where it can hold no name of several parts. */
function flatOf(text: string): string | null {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= TEXTS_MAX) texts.clear();
  const flat = MAY_HOLD.test(text) ? text.replace(/\s+/g, "") : null;
  texts.set(text, flat);
  return flat;
}

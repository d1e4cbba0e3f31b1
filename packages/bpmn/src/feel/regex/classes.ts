/** A set of characters, as a predicate of code points. */
export type CharSet = (point: number) => boolean;

const ESCAPES: Readonly<Record<string, string>> = {
  s: "[ \\t\\n\\r]",
  d: "\\p{Nd}",
  w: "[^\\p{P}\\p{Z}\\p{C}]",
  i: "[\\p{L}\\p{Nl}_:]",
  c: "[\\p{L}\\p{Nl}\\p{N}\\p{M}\\-._:·]",
};

/** Unicode blocks, which XPath writes `\p{IsName}`. */
const BLOCKS: Readonly<Record<string, readonly [number, number]>> = {
  BasicLatin: [0x0, 0x7f],
  "Latin-1Supplement": [0x80, 0xff],
  "LatinExtended-A": [0x100, 0x17f],
  "LatinExtended-B": [0x180, 0x24f],
  IPAExtensions: [0x250, 0x2af],
  CombiningDiacriticalMarks: [0x300, 0x36f],
  Greek: [0x370, 0x3ff],
  GreekandCoptic: [0x370, 0x3ff],
  Cyrillic: [0x400, 0x4ff],
  Armenian: [0x530, 0x58f],
  Hebrew: [0x590, 0x5ff],
  Arabic: [0x600, 0x6ff],
  Devanagari: [0x900, 0x97f],
  Thai: [0xe00, 0xe7f],
  GeneralPunctuation: [0x2000, 0x206f],
  CurrencySymbols: [0x20a0, 0x20cf],
  Arrows: [0x2190, 0x21ff],
  MathematicalOperators: [0x2200, 0x22ff],
  Hiragana: [0x3040, 0x309f],
  Katakana: [0x30a0, 0x30ff],
  CJKUnifiedIdeographs: [0x4e00, 0x9fff],
  HangulSyllables: [0xac00, 0xd7a3],
};

const CATEGORY = /^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)$/;

function ofRegExp(source: string): CharSet {
  const pattern = new RegExp(`^(?:${source})$`, "u");
  return (point) => pattern.test(String.fromCodePoint(point));
}

const cache = new Map<string, CharSet>();

/** The set of an escape such as `\d` or `\W`. Null if the letter is not such an escape. */
export function escapeSet(letter: string): CharSet | null {
  const lower = letter.toLowerCase();
  const source = ESCAPES[lower];
  if (source === undefined) return null;
  const known = cache.get(lower) ?? ofRegExp(source);
  cache.set(lower, known);
  return lower === letter ? known : (point) => !known(point);
}

/** The set of `\p{name}`. Null if the name is unknown. */
export function propertySet(name: string): CharSet | null {
  const known = cache.get(`p${name}`);
  if (known !== undefined) return known;
  const block = name.startsWith("Is") ? BLOCKS[name.slice(2)] : undefined;
  const [low, high] = block ?? [0, -1];
  const set =
    block !== undefined
      ? (point: number) => point >= low && point <= high
      : CATEGORY.test(name)
        ? ofRegExp(`\\p{${name}}`)
        : null;
  if (set !== null) cache.set(`p${name}`, set);
  return set;
}

/** The set extended by the other case of each character. */
export function ignoringCase(set: CharSet): CharSet {
  return (point) => {
    if (set(point)) return true;
    const char = String.fromCodePoint(point);
    const [lower, upper] = [char.toLowerCase().codePointAt(0) ?? point, char.toUpperCase().codePointAt(0) ?? point];
    return set(lower) || set(upper);
  };
}

/**
 * Names with several words or with operator signs: `monthly payment`, `a-b`, `date and time`. The parser must know them in advance
 * and matches the longest first. A plain word needs no declaration.
 */
const WORD = /[\p{L}\p{N}\p{M}_?]+|[^\p{L}\p{N}\p{M}_?\s]/gu;
const PLAIN = /^[\p{L}_?\p{So}][\p{L}\p{N}\p{M}_?\p{So}]*$/u;
/** Fast path: most names are ASCII. */
const ASCII = /^[A-Za-z_]\w*$/;
const WORD_END = /[\p{L}\p{N}\p{M}_?]$/u;

export function isPlainName(name: string): boolean {
  return ASCII.test(name) || PLAIN.test(name);
}

/** Replaces each white space inside a name by one blank. */
export function normalName(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

interface Known {
  readonly name: string;
  readonly pattern: RegExp;
}

interface Found {
  readonly name: string;
  readonly end: number;
}

export class Names {
  /** By their first word, longest first. */
  readonly #known = new Map<string, Known[]>();

  readonly #outer: Names | null;

  /** `outer` contains further names. It is shared and never changed. */
  constructor(names: Iterable<string>, outer: Names | null = null) {
    this.#outer = outer;
    for (const name of names) this.add(name);
  }

  add(text: string): void {
    const name = normalName(text);
    const words = name.match(WORD) ?? [];
    const [first] = words;
    if (first === undefined || (isPlainName(name) && !KEYWORDS.has(name))) return;
    const list = this.#known.get(first) ?? [];
    if (list.some((known) => known.name === name)) return;
    list.push({ name, pattern: patternOf(words) });
    list.sort((a, b) => b.name.length - a.name.length);
    this.#known.set(first, list);
  }

  /** Returns the longest known name at position `at`, with its end. */
  match(text: string, at: number): Found | null {
    const outer = this.#outer?.match(text, at) ?? null;
    WORD.lastIndex = at;
    const first = WORD.exec(text);
    if (first === null || first.index !== at) return outer;
    for (const { name, pattern } of this.#known.get(first[0]) ?? []) {
      pattern.lastIndex = at;
      const length = pattern.exec(text)?.[0].length;
      if (length !== undefined) return outer !== null && outer.end > at + length ? outer : { name, end: at + length };
    }
    return outer;
  }
}

function patternOf(words: readonly string[]): RegExp {
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const joined = escaped.reduce((text, word, i) => {
    const before = words[i - 1] ?? "";
    const apart = WORD_END.test(before) && WORD_END.test(words[i] ?? "");
    return `${text}${apart ? "\\s+" : "\\s*"}${word}`;
  });
  const boundary = WORD_END.test(words.at(-1) ?? "") ? "(?![\\p{L}\\p{N}\\p{M}_?])" : "";
  return new RegExp(joined + boundary, "uy");
}

export const KEYWORDS: ReadonlySet<string> = new Set([
  "for",
  "in",
  "return",
  "if",
  "then",
  "else",
  "some",
  "every",
  "satisfies",
  "instance",
  "of",
  "function",
  "external",
  "or",
  "and",
  "between",
  "null",
  "true",
  "false",
]);

/** Predefined names of several words: functions, their parameters, types and properties. */
export const BUILTIN_NAMES: readonly string[] = [
  ...["date and time", "years and months duration", "days and time duration", "get value", "get entries"],
  ...["substring before", "substring after", "string length", "upper case", "lower case", "starts with", "ends with"],
  ...[
    "string join",
    "list contains",
    "insert before",
    "index of",
    "distinct values",
    "list replace",
    "duplicate values",
  ],
  ...["round up", "round down", "round half up", "round half down", "context put", "context merge", "random number"],
  ...["day of year", "day of week", "month of year", "week of year", "last day of month"],
  ...["met by", "overlaps before", "overlaps after", "finished by", "started by"],
  ...["is defined", "get or else", "is empty", "is blank", "to json", "from json", "to base64", "from base64"],
  ...["time offset", "start included", "end included"],
];

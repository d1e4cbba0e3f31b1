import { type CharSet, escapeSet, ignoringCase, propertySet } from "./classes.ts";
import type { Pattern, RegexFlags } from "./pattern.ts";

const DEPTH_MAX = 100;
const REPEAT_MAX = 1000;
const SINGLE: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** The pattern is not valid. `compileRegex` catches it. */
export class RegexSyntaxError extends Error {}

/** Parses XPath syntax: no look-around, class subtraction, Unicode categories by name. */
export function parseRegex(text: string, flags: RegexFlags): { readonly pattern: Pattern; readonly groups: number } {
  const reader = new RegexReader(text, flags);
  return { pattern: reader.read(), groups: reader.groups };
}

class RegexReader {
  readonly #chars: readonly string[];
  readonly #flags: RegexFlags;
  readonly #closed = new Set<number>();
  groups = 0;
  #at = 0;
  #depth = 0;

  constructor(text: string, flags: RegexFlags) {
    this.#chars = flags.spaced ? withoutSpaces(text) : [...text];
    this.#flags = flags;
  }

  read(): Pattern {
    if (this.#flags.literal) {
      const parts = this.#chars.map((char) => this.#char(is(char)));
      return { kind: "sequence", parts };
    }
    const pattern = this.#choice();
    if (this.#at < this.#chars.length) throw new RegexSyntaxError("unmatched )");
    return pattern;
  }

  #char(accepts: CharSet): Pattern {
    return { kind: "char", accepts: this.#flags.ignoreCase ? ignoringCase(accepts) : accepts };
  }

  #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at += 1;
    return true;
  }

  #next(): string {
    const char = this.#chars[this.#at];
    if (char === undefined) throw new RegexSyntaxError("unexpected end of the pattern");
    this.#at += 1;
    return char;
  }

  #choice(): Pattern {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new RegexSyntaxError("pattern nested too deeply");
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth -= 1;
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (let next = this.#peek(); next !== undefined && next !== "|" && next !== ")"; next = this.#peek()) {
      parts.push(this.#quantified(this.#atom()));
    }
    return { kind: "sequence", parts };
  }

  #quantified(body: Pattern): Pattern {
    const bounds = this.#bounds();
    if (bounds === null) return body;
    if (bounds.min > bounds.max || Math.max(bounds.min, Number.isFinite(bounds.max) ? bounds.max : 0) > REPEAT_MAX) {
      throw new RegexSyntaxError("repetition count out of range");
    }
    return { kind: "repeat", body, ...bounds, isGreedy: !this.#take("?") };
  }

  #bounds(): { readonly min: number; readonly max: number } | null {
    if (this.#take("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take("?")) return { min: 0, max: 1 };
    if (!this.#take("{")) return null;
    const close = this.#chars.indexOf("}", this.#at);
    const found = /^(\d{1,6})(,(\d{1,6})?)?$/.exec(close === -1 ? "" : this.#chars.slice(this.#at, close).join(""));
    if (found === null) throw new RegexSyntaxError("malformed quantifier");
    this.#at = close + 1;
    const min = Number(found[1]);
    if (found[2] === undefined) return { min, max: min };
    return { min, max: found[3] === undefined ? Number.POSITIVE_INFINITY : Number(found[3]) };
  }

  #atom(): Pattern {
    const char = this.#next();
    switch (char) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "char", accepts: this.#class() };
      case ".":
        return this.#flags.dotAll ? this.#char(() => true) : this.#char((point) => point !== 10 && point !== 13);
      case "^":
        return { kind: "start" };
      case "$":
        return { kind: "end" };
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
      case "{":
      case "}":
      case "]":
        throw new RegexSyntaxError(`${char} must be escaped here`);
      default:
        return this.#char(is(char));
    }
  }

  #group(): Pattern {
    let index: number | null = null;
    if (this.#take("?")) {
      if (!this.#take(":")) throw new RegexSyntaxError("only (?: is supported");
    } else {
      this.groups += 1;
      index = this.groups;
    }
    const body = this.#choice();
    if (!this.#take(")")) throw new RegexSyntaxError("unclosed (");
    if (index !== null) this.#closed.add(index);
    return { kind: "group", index, body };
  }

  #escape(): Pattern {
    const char = this.#next();
    if (!/[1-9]/.test(char)) return this.#char(this.#escaped(char));
    let index = Number(char);
    // The longest number of an existing group.
    for (let more = this.#chars[this.#at] ?? ""; /[0-9]/.test(more); more = this.#chars[this.#at] ?? "") {
      if (index * 10 + Number(more) > this.groups) break;
      index = index * 10 + Number(more);
      this.#at += 1;
    }
    if (!this.#closed.has(index)) throw new RegexSyntaxError(`group ${index} not found before \\${index}`);
    return { kind: "back", index };
  }

  #escaped(char: string): CharSet {
    const single = SINGLE[char];
    if (single !== undefined) return is(single);
    const set = escapeSet(char);
    if (set !== null) return set;
    if (char === "p" || char === "P") return this.#property(char === "P");
    if (/[\\|.?*+(){}$\-[\]^]/.test(char)) return is(char);
    throw new RegexSyntaxError(`unknown escape \\${char}`);
  }

  #property(isNegated: boolean): CharSet {
    const close = this.#chars.indexOf("}", this.#at);
    if (this.#chars[this.#at] !== "{" || close === -1) throw new RegexSyntaxError("expected a category name");
    const name = this.#chars.slice(this.#at + 1, close).join("");
    this.#at = close + 1;
    const set = propertySet(name);
    if (set === null) throw new RegexSyntaxError(`unknown category ${name}`);
    return isNegated ? (point) => !set(point) : set;
  }

  /** Parses a character class after its opening bracket. */
  #class(): CharSet {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new RegexSyntaxError("pattern nested too deeply");
    const isNegated = this.#chars[this.#at] === "^";
    if (isNegated) this.#at += 1;
    const sets: CharSet[] = [];
    let without: CharSet | null = null;
    for (let char = this.#next(); char !== "]" || sets.length === 0; char = this.#next()) {
      if (char === "]") throw new RegexSyntaxError("empty character class");
      if (char === "-" && this.#chars[this.#at] === "[" && sets.length > 0) {
        this.#at += 1;
        without = this.#class();
        if (this.#next() !== "]") throw new RegexSyntaxError("a class must end after a subtraction");
        break;
      }
      // Case is ignored for each member, and not for their complement: `[^q]` does not match Q.
      const member = this.#member(char);
      sets.push(this.#flags.ignoreCase ? ignoringCase(member) : member);
    }
    this.#depth -= 1;
    const has: CharSet = (point) => sets.some((set) => set(point)) !== isNegated;
    const excluded = without;
    return excluded === null ? has : (point) => has(point) && !excluded(point);
  }

  #member(char: string): CharSet {
    if (char === "[") throw new RegexSyntaxError("[ must be escaped in a class");
    const low = char === "\\" ? this.#next() : char;
    if (char === "\\" && /[0-9]/.test(low)) throw new RegexSyntaxError("a class cannot contain a back reference");
    const isSet = char === "\\" && SINGLE[low] === undefined && /[a-zA-Z]/.test(low);
    if (isSet) return this.#escaped(low);
    const from = char === "\\" ? (SINGLE[low] ?? low) : low;
    if (this.#chars[this.#at] !== "-" || this.#chars[this.#at + 1] === "]" || this.#chars[this.#at + 1] === "[") {
      return is(from);
    }
    this.#at += 1;
    const next = this.#next();
    const to = next === "\\" ? this.#next() : next;
    const [first, last] = [pointOf(from), pointOf(SINGLE[to] !== undefined && next === "\\" ? (SINGLE[to] ?? to) : to)];
    if (first > last) throw new RegexSyntaxError(`${from}-${to} is out of order`);
    return (point) => point >= first && point <= last;
  }
}

function pointOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}

function is(char: string): CharSet {
  const wanted = pointOf(char);
  return (point) => point === wanted;
}

/** The pattern without white space, except in character classes. */
function withoutSpaces(text: string): readonly string[] {
  const kept: string[] = [];
  let classes = 0;
  let isEscaped = false;
  for (const char of text) {
    if (classes === 0 && /^\s$/.test(char)) continue;
    if (!isEscaped && char === "[") classes += 1;
    if (!isEscaped && char === "]") classes = Math.max(0, classes - 1);
    isEscaped = !isEscaped && char === "\\";
    kept.push(char);
  }
  return kept;
}

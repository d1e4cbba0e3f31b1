import { PawlError } from "pawl";
import { KEYWORDS, type Names, normalName } from "./names.ts";

const CHARS_MAX = 100_000;
const SPACE = /(?:[\s\u00a0\ufeff]|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/y;
const WORD = /[\p{L}_?\p{So}](?:[\p{L}\p{N}\p{M}_?\p{So}\p{Sk}]|\p{Cf})*/uy;
const NUMBER = /(?:\d+(?:\.(?!\.)\d+)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\[\s\S])*"/y;
const QUOTED_NAME = /`([^`\n]+)`/y;
const AFTER_WORD = /[\p{L}\p{N}\p{M}_?]/u;

/** Scans tokens on request of the parser: FEEL's tokens depend on their position, so they cannot be split in advance. */
export class Scanner {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    if (text.length > CHARS_MAX) {
      throw new PawlError(
        "EXPRESSION_LIMIT",
        `expression ${quoteExcerpt(text)} has more than ${CHARS_MAX} characters; split it`,
      );
    }
    this.text = text;
  }

  skip(): void {
    SPACE.lastIndex = this.at;
    this.at += SPACE.exec(this.text)?.[0].length ?? 0;
  }

  get done(): boolean {
    this.skip();
    return this.at >= this.text.length;
  }

  /** True if the text continues with `sign`. */
  isNext(sign: string): boolean {
    this.skip();
    return this.text.startsWith(sign, this.at);
  }

  take(sign: string): boolean {
    if (!this.isNext(sign)) return false;
    this.at += sign.length;
    return true;
  }

  expect(sign: string): void {
    if (!this.take(sign)) throw this.syntaxError(`expected ${sign}`);
  }

  isWord(word: string): boolean {
    return this.isNext(word) && !AFTER_WORD.test(this.text.charAt(this.at + word.length));
  }

  takeWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.at += word.length;
    return true;
  }

  expectWord(word: string): void {
    if (!this.takeWord(word)) throw this.syntaxError(`expected ${word}`);
  }

  /** Matches a sticky pattern at the current position and advances past it. */
  match(pattern: RegExp): RegExpExecArray | null {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found;
  }

  /** Reads a name in backticks, the longest known name, or one plain word. Null if there is none, or if the word is a keyword. */
  name(names: Names): string | null {
    const quoted = this.match(QUOTED_NAME)?.[1];
    if (quoted !== undefined) return normalName(quoted);
    const known = names.match(this.text, this.at);
    if (known !== null) {
      this.at = known.end;
      return known.name;
    }
    const start = this.at;
    const word = this.match(WORD)?.[0];
    if (word === undefined) return null;
    if (!KEYWORDS.has(word)) return word;
    this.at = start;
    return null;
  }

  number(): number | null {
    const found = this.match(NUMBER);
    return found === null ? null : Number(found[0]);
  }

  string(): string | null {
    const found = this.match(STRING);
    return found === null ? null : this.#unescaped(found[0].slice(1, -1));
  }

  #unescaped(raw: string): string {
    if (!raw.includes("\\")) return raw;
    return raw.replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{6}|[\s\S])/g, (whole, code: string) => {
      const plain = ESCAPES[code];
      if (plain !== undefined) return plain;
      if (code.length === 1) return whole;
      const point = Number.parseInt(code.slice(1), 16);
      if (point > 0x10ffff) throw this.syntaxError(`${whole} is not a valid character`);
      return code.startsWith("u") ? String.fromCharCode(point) : String.fromCodePoint(point);
    });
  }

  syntaxError(reason: string): PawlError {
    const rest = this.text.slice(this.at, this.at + 20).trim();
    const place = rest === "" ? "at the end" : `at character ${this.at + 1}, “${rest}”`;
    return new PawlError(
      "EXPRESSION_INVALID",
      `expression ${quoteExcerpt(this.text)} is not valid FEEL: ${reason} ${place}`,
    );
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  '"': '"',
  "'": "'",
  "\\": "\\",
};

export function quoteExcerpt(text: string): string {
  const flat = text.slice(0, 1000).trim().replace(/\s+/g, " ");
  return `“${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}”`;
}

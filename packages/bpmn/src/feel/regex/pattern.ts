/** An XPath regular expression as a tree. */
export type Pattern =
  | { readonly kind: "empty" }
  | { readonly kind: "char"; readonly accepts: (point: number) => boolean }
  | { readonly kind: "start" | "end" }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "choice"; readonly options: readonly Pattern[] }
  | { readonly kind: "group"; readonly index: number | null; readonly body: Pattern }
  | { readonly kind: "back"; readonly index: number }
  | {
      readonly kind: "repeat";
      readonly body: Pattern;
      readonly min: number;
      readonly max: number;
      readonly isGreedy: boolean;
    };

export interface RegexFlags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly spaced: boolean;
  readonly literal: boolean;
}

/** Null if a flag is not an XPath flag. */
export function regexFlags(text: string): RegexFlags | null {
  if (/[^smixq]/.test(text)) return null;
  return {
    ignoreCase: text.includes("i"),
    multiline: text.includes("m"),
    dotAll: text.includes("s"),
    spaced: text.includes("x") && !text.includes("q"),
    literal: text.includes("q"),
  };
}

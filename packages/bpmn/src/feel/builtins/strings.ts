import type { Evaluation } from "../evaluation.ts";
import { compileRegex, type Regex, type RegexMatch } from "../regex/regex.ts";
import type { FeelList, FeelValue } from "../value.ts";
import { signature } from "./signature.ts";

export const STRING_FUNCTIONS = [
  signature(
    "substring(string: string, start position: number, length?: number?)",
    ([text, start, length = null], run) => substring(text as string, start as number, length as number | null, run),
  ),
  signature("string length(string: string)", ([text]) => [...(text as string)].length),
  signature("upper case(string: string)", ([text], run) => grown((text as string).toUpperCase(), run)),
  signature("lower case(string: string)", ([text], run) => grown((text as string).toLowerCase(), run)),
  signature("substring before(string: string, match: string)", ([text, match]) => {
    const at = (text as string).indexOf(match as string);
    return at === -1 ? "" : (text as string).slice(0, at);
  }),
  signature("substring after(string: string, match: string)", ([text, match]) => {
    const at = (text as string).indexOf(match as string);
    return at === -1 ? "" : (text as string).slice(at + (match as string).length);
  }),
  signature("replace(input: string, pattern: string, replacement: string, flags?: string?)", (args, run) => {
    const [text, pattern, replacement, flags] = args as [string, string, string, string | null];
    return replace(text, pattern, replacement, flags, run);
  }),
  signature("contains(string: string, match: string)", ([text, match]) => (text as string).includes(match as string)),
  signature("starts with(string: string, match: string)", ([text, match]) =>
    (text as string).startsWith(match as string),
  ),
  signature("ends with(string: string, match: string)", ([text, match]) => (text as string).endsWith(match as string)),
  signature("matches(input: string, pattern: string, flags?: string?)", ([text, pattern, flags = null], run) =>
    matches(text as string, pattern as string, flags as string | null, run),
  ),
  signature("split(string: string, delimiter: string)", ([text, by], run) => split(text as string, by as string, run)),
  signature("extract(string: string, pattern: string)", ([text, by], run) =>
    extract(text as string, by as string, run),
  ),
  signature("string join(list: list, delimiter?: string?)", ([list, delimiter], run) =>
    join(list as FeelList, delimiter as string | null, { prefix: "", suffix: "" }, run),
  ),
  signature("string join(list: list, delimiter: string?, prefix: string?, suffix: string?)", (args, run) => {
    const [list, delimiter, prefix, suffix] = args as [FeelList, string | null, string | null, string | null];
    return join(list, delimiter, { prefix: prefix ?? "", suffix: suffix ?? "" }, run);
  }),
  signature("trim(string: string)", ([text]) => (text as string).trim()),
  signature("is blank(string: string)", ([text]) => (text as string).trim() === ""),
  signature("to base64(value: string)", ([text], run) =>
    grown(Buffer.from(text as string, "utf8").toString("base64"), run),
  ),
  signature("from base64(value: string)", ([text], run) =>
    grown(Buffer.from(text as string, "base64").toString("utf8"), run),
  ),
];

function grown(text: string, run: Evaluation): string {
  run.grow(text.length);
  return text;
}

/** Counts characters by code point: 1 is the first, -1 the last. */
function substring(text: string, position: number, length: number | null, run: Evaluation): FeelValue {
  const chars = [...text];
  run.step(chars.length / 16);
  const start = Math.trunc(position);
  if (start === 0 || (length !== null && length < 1)) return null;
  if (Math.abs(start) > chars.length) return null;
  const from = start > 0 ? start - 1 : chars.length + start;
  return grown(chars.slice(from, length === null ? undefined : from + Math.trunc(length)).join(""), run);
}

function regexOf(pattern: string, flags: string | null, run: Evaluation): Regex | null {
  run.grow(pattern.length);
  const regex = compileRegex(pattern, flags ?? "");
  return regex ?? run.warn("pattern is not a valid regular expression");
}

function* matchesOf(regex: Regex, chars: readonly string[], run: Evaluation): Generator<RegexMatch> {
  const search = regex.on(chars, (count) => run.step(count));
  for (let from = 0; from <= chars.length; ) {
    const match = search(from);
    if (match === null) return;
    yield match;
    from = match.end > match.start ? match.end : match.end + 1;
  }
}

function matches(text: string, pattern: string, flags: string | null, run: Evaluation): FeelValue {
  const regex = regexOf(pattern, flags, run);
  if (regex === null) return null;
  return regex.on([...text], (count) => run.step(count))(0) !== null;
}

/** `$1` in the replacement is a group, `\$` a dollar sign. XPath does not allow a pattern that matches the empty string. */
function replace(text: string, pattern: string, replacement: string, flags: string | null, run: Evaluation): FeelValue {
  const regex = regexOf(pattern, flags, run);
  if (regex === null) return null;
  const isLiteral = flags?.includes("q") === true;
  if (!isLiteral && /\\(?![\\$])|(?<!\\)(?:\\\\)*\$(?!\d)/.test(replacement))
    return run.warn("replacement is not valid; write \\$ for $ and \\\\ for \\");
  if (regex.on([], (count) => run.step(count))(0) !== null) return run.warn("pattern matches the empty string");
  const chars = [...text];
  const parts: string[] = [];
  let at = 0;
  for (const match of matchesOf(regex, chars, run)) {
    const whole = chars.slice(match.start, match.end).join("");
    const put = isLiteral ? replacement : expanded(replacement, whole, match, regex);
    parts.push(chars.slice(at, match.start).join(""), put);
    at = match.end;
    run.grow(parts.at(-1)?.length ?? 0);
  }
  return grown(parts.join("") + chars.slice(at).join(""), run);
}

/** `$0` is the whole match. */
function expanded(replacement: string, whole: string, match: RegexMatch, { groups }: Regex): string {
  return replacement.replace(/\\([\\$])|\$(\d+)/g, (_, escaped: string | undefined, digits: string | undefined) => {
    if (escaped !== undefined || digits === undefined) return escaped ?? "";
    // The longest number of an existing group; remaining digits are text.
    let used = digits.length;
    while (used > 1 && Number(digits.slice(0, used)) > groups) used -= 1;
    const group = Number(digits.slice(0, used));
    return (group === 0 ? whole : (match.groups[group - 1] ?? "")) + digits.slice(used);
  });
}

function split(text: string, delimiter: string, run: Evaluation): FeelValue {
  const regex = regexOf(delimiter, null, run);
  if (regex === null) return null;
  const chars = [...text];
  const parts: string[] = [];
  let at = 0;
  for (const match of matchesOf(regex, chars, run)) {
    if (match.end === match.start) continue;
    parts.push(chars.slice(at, match.start).join(""));
    at = match.end;
  }
  parts.push(chars.slice(at).join(""));
  run.grow(text.length + parts.length);
  return parts;
}

function extract(text: string, pattern: string, run: Evaluation): FeelValue {
  const regex = regexOf(pattern, null, run);
  if (regex === null) return null;
  const chars = [...text];
  return [...matchesOf(regex, chars, run)].map((match) => chars.slice(match.start, match.end).join(""));
}

function join(
  list: FeelList,
  delimiter: string | null,
  ends: { prefix: string; suffix: string },
  run: Evaluation,
): FeelValue {
  const texts = list.filter((item) => item !== null);
  if (texts.some((item) => typeof item !== "string")) return null;
  return grown(`${ends.prefix}${texts.join(delimiter ?? "")}${ends.suffix}`, run);
}

import { modelInvalid } from "./problem.ts";

/** Characters that no XML document can contain. */
const ILLEGAL = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#13;",
  "\n": "&#10;",
  "\t": "&#9;",
};

/** Text as content of an element. */
export function escapeXml(text: string): string {
  checkCharacters(text);
  return text.replace(/[&<>\r]/g, (each) => ESCAPES[each] ?? each);
}

/** Writes one element. Attributes that are null are omitted. */
export function tag(
  name: string,
  attributes: Readonly<Record<string, string | null>>,
  inside: readonly string[] = [],
): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [` ${key}="${attributeText(value)}"`],
  );
  const start = `<${name}${written.join("")}`;
  return inside.length === 0 ? `${start}/>` : `${start}>${inside.join("")}</${name}>`;
}

/** Line breaks are escaped, because a reader replaces them with spaces. */
function attributeText(value: string): string {
  checkCharacters(value);
  return value.replace(/[&<>"\r\n\t]/g, (each) => ESCAPES[each] ?? each);
}

function checkCharacters(text: string): void {
  const found = ILLEGAL.exec(text);
  if (found === null) return;
  const code = (found[0].codePointAt(0) ?? 0).toString(16).padStart(4, "0");
  const problem = `a text contains the character U+${code}, which an XML document cannot contain; remove it`;
  throw modelInvalid("the graph", [{ element: null, line: null, text: problem }]);
}

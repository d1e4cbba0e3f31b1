import { PawlError } from "pawl";

/** The document is no XML that is read here. */
export function malformed(line: number, flaw: string): PawlError {
  return new PawlError("XML_INVALID", `line ${line}: ${flaw}; the document was not read`);
}

/** The document is larger than what is read. */
export function tooLarge(what: string, max: number): PawlError {
  return new PawlError("XML_LIMIT", `the document has more than ${max} ${what}; it was not read`);
}

import { PawlError } from "pawl";

/** The document is not well-formed, or uses a feature that is rejected. */
export function malformed(line: number, reason: string): PawlError {
  return new PawlError("XML_INVALID", `invalid XML at line ${line}: ${reason}`);
}

/** The document exceeds a limit. */
export function tooLarge(items: string, max: number): PawlError {
  return new PawlError("XML_LIMIT", `XML document has more than ${max} ${items}; split the document`);
}

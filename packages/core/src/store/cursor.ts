import { fromBase64Url, toBase64Url } from "../model/bytes.ts";
import { PawlError } from "../model/errors.ts";

/** A part of a position in a list. */
export type CursorPart = string | number;

/** Encodes a position as a cursor. `list` names the list and its order, so that a cursor of another list is rejected. */
export function writeCursor(list: string, place: readonly CursorPart[]): string {
  return toBase64Url(JSON.stringify([list, ...place]));
}

/** Decodes a cursor. Returns null, the first page, if there is no cursor. */
export function readCursor<const Shape extends readonly ("string" | "number")[]>(
  list: string,
  shape: Shape,
  cursor: string | undefined,
): Place<Shape> | null {
  if (cursor === undefined) return null;
  const parts = parse(cursor);
  const fits = parts[0] === list && parts.length === shape.length + 1;
  if (!fits || !shape.every((type, index) => isPart(type, parts[index + 1]))) {
    throw new PawlError(
      "CURSOR_INVALID",
      `the cursor does not belong to the list of ${list}; start with the first page`,
    );
  }
  return parts.slice(1) as Place<Shape>;
}

/** Numbers in cursors are times and positions. A store may not be able to compare others. */
function isPart(type: "string" | "number", part: unknown): boolean {
  return type === "number" ? Number.isSafeInteger(part) : typeof part === "string";
}

type Place<Shape extends readonly ("string" | "number")[]> = {
  -readonly [Index in keyof Shape]: Shape[Index] extends "string" ? string : number;
};

function parse(cursor: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(fromBase64Url(cursor));
    return Array.isArray(parsed) ? parsed : [];
  } catch (cause) {
    throw new PawlError("CURSOR_INVALID", "the cursor is not valid; start with the first page", {
      cause,
    });
  }
}

import { PawlError } from "./errors.ts";
import { hash128 } from "./hash.ts";
import { textOf } from "./payload-values.ts";

/** Control characters and halves of surrogate pairs: not every store keeps them, and people don't see them. */
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;
/** `//` parts a child's id from its parent's, so no id that is chosen may hold it. */
const UNFIT_ID = /[\p{Cc}\p{Surrogate}]|\/\//u;

const CHARACTERS_MAX = 255;
const CHILD_ID_CHARACTERS_MAX = 400;
const CHILD_ID_PREFIX_CHARACTERS = 200;

/** An id that a caller chose for a run. Ids of children are made by `childRunId` and need no check. */
export function checkRunId(id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= CHARACTERS_MAX && !UNFIT_ID.test(id)) return id;
  const holdsSeparator = typeof id === "string" && id.includes("//");
  const flaw = holdsSeparator ? "holds `//`, which is kept for the ids of children" : flawOf(id);
  throw new PawlError("ID_INVALID", `the run id ${shown(id)} ${flaw}`);
}

/** The id of a run that is addressed: a chosen one, or a child's. */
export function checkTarget(id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= CHILD_ID_CHARACTERS_MAX && !UNFIT.test(id)) return id;
  throw new PawlError(
    "ID_INVALID",
    `the run id ${shown(id)} ${typeof id === "string" && id.length > CHILD_ID_CHARACTERS_MAX ? "is too long" : flawOf(id)}`,
  );
}

/** A name of a workflow, step, message, topic … `what` says which in the error. */
export function checkName(name: unknown, what: string): string {
  if (typeof name === "string" && name !== "" && name.length <= CHARACTERS_MAX && !UNFIT.test(name)) return name;
  throw new PawlError("NAME_INVALID", `the ${what} ${shown(name)} ${flawOf(name)}`);
}

/**
 * The id of the child that the command at `location` of `parentId` starts: always the same, and no other's. A location
 * holds no `//`, does not begin with `/` and has no segment of `~` and 32 digits, so both parts can be told again; where
 * the id would be too long, a hash of both takes the location's place.
 */
export function childRunId(parentId: string, location: string): string {
  const id = `${parentId}//${location}`;
  if (id.length <= CHILD_ID_CHARACTERS_MAX) return id;
  return `${prefixOf(id)}//~${hash128(`${parentId.length}:${id}`)}`;
}

const UNDO_SUFFIX = "//~undo";

/** The id of the run that compensates a completed child. */
export function undoRunId(child: string): string {
  return `${child}${UNDO_SUFFIX}`;
}

/** The id that the code of a run sees. A run that compensates a child executes the child's code, which must see the child's id. */
export function visibleRunId(id: string): string {
  return id.endsWith(UNDO_SUFFIX) ? id.slice(0, -UNDO_SUFFIX.length) : id;
}

/** The first characters, without half a surrogate pair at their end. */
function prefixOf(id: string): string {
  const prefix = id.slice(0, CHILD_ID_PREFIX_CHARACTERS);
  return UNFIT.test(prefix) ? prefix.slice(0, -1) : prefix;
}

function flawOf(value: unknown): string {
  if (typeof value !== "string") return "is not a string";
  if (value === "") return "is empty";
  if (value.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters`;
  return "holds a control character or half a surrogate pair";
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : textOf(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

import { PawlError } from "./errors.ts";
import { hash128 } from "./hash.ts";
import { shortText } from "./payload-values.ts";

/** Control characters and halves of surrogate pairs: some stores cannot store them, and users cannot see them. */
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;
/** `//` separates a parent's id from the rest of its child's id, so an id chosen by a caller must not contain it. */
const UNFIT_ID = /[\p{Cc}\p{Surrogate}]|\/\//u;

const CHARACTERS_MAX = 255;
const CHILD_ID_CHARACTERS_MAX = 400;
const CHILD_ID_PREFIX_CHARACTERS = 200;

const RUN_ID = `text of 1 to ${CHARACTERS_MAX} characters, without \`//\`, control characters and halves of surrogate pairs`;
const TARGET = `text of 1 to ${CHILD_ID_CHARACTERS_MAX} characters, without control characters and halves of surrogate pairs`;
const NAME = `text of 1 to ${CHARACTERS_MAX} characters, without control characters and halves of surrogate pairs`;

/** Checks an id that a caller chose for a run. `childRunId` makes the ids of children. `what` names the id in the error. */
export function checkRunId(id: unknown, what = "run id"): string {
  if (typeof id === "string" && id !== "" && id.length <= CHARACTERS_MAX && !UNFIT_ID.test(id)) return id;
  throw new PawlError("ID_INVALID", `${what} must be ${RUN_ID}; got ${shortText(id)}`);
}

/** Checks the id of an existing run: chosen by a caller, or made by `childRunId`. */
export function checkTarget(id: unknown, what = "run id"): string {
  if (typeof id === "string" && id !== "" && id.length <= CHILD_ID_CHARACTERS_MAX && !UNFIT.test(id)) return id;
  throw new PawlError("ID_INVALID", `${what} must be ${TARGET}; got ${shortText(id)}`);
}

/** Checks a name of a workflow, step, message or topic. `what` names it in the error. */
export function checkName(name: unknown, what: string): string {
  if (typeof name === "string" && name !== "" && name.length <= CHARACTERS_MAX && !UNFIT.test(name)) return name;
  throw new PawlError("NAME_INVALID", `${what} must be ${NAME}; got ${shortText(name)}`);
}

/**
 * Returns the id of the child that the command at `location` of `parentId` starts: always the same id, and different for every other
 * command. The two parts can be separated, because a location contains no `//`, does not start with `/`, and has no segment of `~` and
 * 32 digits. If the id would be too long, a hash of both parts replaces the location.
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

const GENERATION = "//~generation/";

/** The id under which an ended generation of a run stays readable when the run has started again. */
export function endedGenerationId(runId: string, generation: number): string {
  return `${runId}${GENERATION}${generation}`;
}

/** The run and the generation that such an id names. Null if it is the id of another run. */
export function endedGenerationOf(id: string): { readonly runId: string; readonly generation: number } | null {
  const at = id.lastIndexOf(GENERATION);
  const text = at < 0 ? "" : id.slice(at + GENERATION.length);
  return /^\d+$/.test(text) ? { runId: id.slice(0, at), generation: Number(text) } : null;
}

/** Returns the first characters, without half a surrogate pair at the end. */
function prefixOf(id: string): string {
  const prefix = id.slice(0, CHILD_ID_PREFIX_CHARACTERS);
  return UNFIT.test(prefix) ? prefix.slice(0, -1) : prefix;
}

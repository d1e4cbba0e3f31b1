import { DEPTH_MAX, isData } from "./payload-tree.ts";
import { copyData, objectKind, ownKeys, ownProperty, read, textOf } from "./payload-values.ts";

/** What was thrown, as data: what a journal keeps of an error, and what a replay makes one from. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: Failure;
  /** The other properties of the error that a payload can hold; of a value that is no error, the value as `thrown`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** How many times the step body was tried, where one was. */
  readonly attempts?: number;
}

/** How many causes of causes are kept, and how deep errors in properties of errors. */
const ERROR_DEPTH_MAX = 8;
/** How many errors one failure keeps in full; those beyond keep their name and message. */
const ERRORS_MAX = 100;
const DETAIL_DEPTH_MAX = 20;
/** The longest chain of causes that is read back: failures of children of children are put together as data. */
const CAUSES_MAX = 100;
const BRIEF_CHARACTERS_MAX = 1_000;

interface Reading {
  /** The errors that the one being read lies in. */
  readonly ancestors: object[];
  errorsLeft: number;
}

/** Describes whatever was thrown. Never throws, whatever that does: proxies, getters, cycles. */
export function toFailure(thrown: unknown): Failure {
  try {
    return readFailure(thrown, { ancestors: [], errorsLeft: ERRORS_MAX });
  } catch (error) {
    return { name: "NonError", message: `a value was thrown that can't be read: ${textOf(read(error, "message"))}` };
  }
}

/** The least that can be said of a failure, for when the whole of it is too large to store. */
export function briefFailure(failure: Failure): Failure {
  const { name, message, code, attempts } = failure;
  return {
    name: brief(name),
    message: brief(message),
    ...(code === undefined ? {} : { code: typeof code === "string" ? brief(code) : code }),
    ...(attempts === undefined ? {} : { attempts }),
  };
}

function brief(text: string): string {
  return text.slice(0, BRIEF_CHARACTERS_MAX);
}

/** Whether a decoded value is a failure, its causes included. */
export function isFailure(value: unknown): value is Failure {
  let current = value;
  for (let depth = 0; depth <= CAUSES_MAX; depth++) {
    if (!hasFailureFields(current)) return false;
    if (current.cause === undefined) return true;
    current = current.cause;
  }
  return false;
}

function hasFailureFields(value: unknown): value is Failure {
  if (typeof value !== "object" || value === null) return false;
  const { name, message, code, stack, details, attempts } = value as Record<string, unknown>;
  return (
    typeof name === "string" &&
    typeof message === "string" &&
    (code === undefined || isCode(code)) &&
    (stack === undefined || typeof stack === "string") &&
    (details === undefined || (typeof details === "object" && details !== null)) &&
    (attempts === undefined || typeof attempts === "number")
  );
}

function readFailure(thrown: unknown, reading: Reading): Failure {
  if (!isErrorLike(thrown)) return nonError(thrown, reading);
  reading.ancestors.push(thrown);
  reading.errorsLeft--;
  const code = read(thrown, "code");
  const stack = read(thrown, "stack");
  const attempts = read(thrown, "attempts");
  const fields = new Set(["name", "message", "stack", "cause"]);
  if (isCode(code)) fields.add("code");
  if (isCount(attempts)) fields.add("attempts");
  const cause = readCause(thrown, reading);
  const details = readDetails(thrown, fields, reading);
  reading.ancestors.pop();
  return {
    ...nameAndMessage(thrown),
    ...(isCode(code) ? { code } : {}),
    ...(typeof stack === "string" ? { stack } : {}),
    ...(cause === null ? {} : { cause }),
    ...(details === null ? {} : { details }),
    ...(isCount(attempts) ? { attempts } : {}),
  };
}

/** Real errors, and objects that look like one. */
function isErrorLike(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return objectKind(value) === "error" || typeof read(value, "message") === "string";
}

function isCode(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function nameAndMessage(error: object): { readonly name: string; readonly message: string } {
  const name = read(error, "name");
  const message = read(error, "message");
  return { name: typeof name === "string" ? name : "Error", message: message === undefined ? "" : textOf(message) };
}

function readCause(error: object, reading: Reading): Failure | null {
  const cause = read(error, "cause");
  if (cause === undefined || reading.ancestors.length > ERROR_DEPTH_MAX || reading.errorsLeft <= 0) return null;
  return isAncestor(cause, reading) ? null : readFailure(cause, reading);
}

function isAncestor(value: unknown, reading: Reading): boolean {
  return reading.ancestors.includes(value as object);
}

function readDetails(error: object, fields: ReadonlySet<string>, reading: Reading): Record<string, unknown> | null {
  const details: Record<string, unknown> = {};
  for (const key of ownKeys(error)) {
    const property = typeof key === "string" && !fields.has(key) ? ownProperty(error, key) : undefined;
    if (property === undefined || property.get !== undefined || property.set !== undefined) continue;
    // AggregateError keeps what it aggregates in a property that is not enumerable.
    if (!property.enumerable && !(key === "errors" && Array.isArray(property.value))) continue;
    if (isHoldable(property.value)) define(details, key, property.value, reading);
  }
  return Object.keys(details).length === 0 ? null : details;
}

function define(details: Record<string, unknown>, key: PropertyKey, value: unknown, reading: Reading): void {
  const copy = copyData(value, (error) => copyError(error, reading));
  Object.defineProperty(details, key, { value: copy, enumerable: true, writable: true, configurable: true });
}

/** An error among the properties of another. One that holds itself, or is one too many, keeps its name and message. */
function copyError(error: object, reading: Reading): Error {
  const whole = reading.ancestors.length <= ERROR_DEPTH_MAX && reading.errorsLeft > 0 && !isAncestor(error, reading);
  return toError(whole ? readFailure(error, reading) : nameAndMessage(error));
}

function nonError(thrown: unknown, reading: Reading): Failure {
  const message = typeof thrown === "string" ? thrown : `${textOf(thrown)} was thrown`;
  if (!isHoldable(thrown)) return { name: "NonError", message };
  const details = {};
  define(details, "thrown", thrown, reading);
  return { name: "NonError", message, details };
}

function isHoldable(value: unknown): boolean {
  return isData(value, DEPTH_MAX - DETAIL_DEPTH_MAX);
}

const NATIVE: ReadonlyMap<string, ErrorConstructor> = new Map<string, ErrorConstructor>([
  ["TypeError", TypeError],
  ["RangeError", RangeError],
  ["SyntaxError", SyntaxError],
  ["ReferenceError", ReferenceError],
  ["EvalError", EvalError],
  ["URIError", URIError],
]);

/** A real error with everything the failure holds, its first stack included. */
export function toError(failure: Failure): Error {
  const error = createError(failure);
  const { name, code, stack, details = {}, attempts } = failure;
  if (error.name !== name) hide(error, "name", name);
  hide(error, "stack", stack);
  if (code !== undefined) show(error, "code", code);
  for (const key of Object.keys(details)) {
    if (!Object.hasOwn(error, key)) show(error, key, details[key]);
  }
  if (attempts !== undefined) show(error, "attempts", attempts);
  return error;
}

function createError(failure: Failure): Error {
  const { name, message, cause, details } = failure;
  const options = cause === undefined ? undefined : { cause: toError(cause) };
  if (name === "AggregateError" && Array.isArray(details?.errors)) {
    return new AggregateError(details.errors, message, options);
  }
  return new (NATIVE.get(name) ?? Error)(message, options);
}

function show(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
}

/** As the language itself keeps these: they are not listed among the properties. */
function hide(error: Error, key: "name" | "stack", value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: false, writable: true, configurable: true });
}

import { DEPTH_MAX, isData } from "./payload-tree.ts";
import { copyData, objectKind, ownKeys, ownProperty, read, textOf } from "./payload-values.ts";

/** A thrown value as data: a journal stores it, and a replay creates an error from it. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: Failure;
  /** The other properties of the error that a payload can hold. For a thrown value that is not an error: the value, as `thrown`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The number of attempts of the step body, if there was a step. */
  readonly attempts?: number;
}

/** Maximum length of a stored chain of causes, and maximum depth of errors in properties of errors. */
const ERROR_DEPTH_MAX = 8;
/** Maximum number of errors that one failure stores in full. Further errors keep only name and message. */
const ERRORS_MAX = 100;
const DETAIL_DEPTH_MAX = 20;
/** Maximum length of a decoded chain of causes. Failures of nested children are combined as data, so it exceeds ERROR_DEPTH_MAX. */
const CAUSES_MAX = 100;
const BRIEF_CHARACTERS_MAX = 1_000;

interface Reading {
  /** The errors that contain the error being read. */
  readonly ancestors: object[];
  errorsLeft: number;
}

/** Describes a thrown value. Never throws, even for proxies, throwing getters and cycles. */
export function toFailure(thrown: unknown): Failure {
  try {
    return readFailure(thrown, { ancestors: [], errorsLeft: ERRORS_MAX });
  } catch (error) {
    return { name: "NonError", message: `the thrown value cannot be read: ${textOf(read(error, "message"))}` };
  }
}

/** Returns name, message, code and attempts, shortened. Used if the whole failure is too large to store. */
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

/** Whether a decoded value, including its causes, is a failure. */
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

/** True for errors and for objects with a message. */
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
    // The `errors` of an AggregateError are not enumerable.
    if (!property.enumerable && !(key === "errors" && Array.isArray(property.value))) continue;
    if (isHoldable(property.value)) define(details, key, property.value, reading);
  }
  return Object.keys(details).length === 0 ? null : details;
}

function define(details: Record<string, unknown>, key: PropertyKey, value: unknown, reading: Reading): void {
  const copy = copyData(value, (error) => copyError(error, reading));
  Object.defineProperty(details, key, { value: copy, enumerable: true, writable: true, configurable: true });
}

/** Copies an error found in a property of another. An error that contains itself, or exceeds the maxima, keeps name and message. */
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

const recorded = new WeakSet<object>();

/** Whether the error was created from a failure. */
export function isRecordedError(error: object): boolean {
  return recorded.has(error);
}

/** Creates an error with all fields of the failure, including the original stack. */
export function toError(failure: Failure): Error {
  const error = createError(failure);
  recorded.add(error);
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

/** Defines a property as the language does: not enumerable. */
function hide(error: Error, key: "name" | "stack", value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: false, writable: true, configurable: true });
}

import { PawlError } from "../model/errors.ts";
import type { CodecHook } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import type { StoredDocument } from "../model/transition.ts";
import type { Reader, Store } from "../store/store.ts";

/** The document that holds the checks. Its body is plain JSON, so that an engine with any codec can read it. */
export const CODEC_DOCUMENT = { kind: "pawl codec", id: "checks" } as const;

/** The text that every codec of the store must decode. */
const KNOWN_TEXT = '{"pawl":"codec check"}';
const NO_CODEC = "none";
const NAME_DEFAULT = "codec";
/** No codec decodes it. */
const DAMAGED: CodecCheck = { name: "with a damaged check", text: "" };
/** The newest runs of a store without checks of which an engine must be able to read one. */
const RUNS_MAX = 20;
const RECORDS_MAX = 5;
/** Concurrent engines may write the document first. */
const ATTEMPTS_MAX = 20;

/** What one codec made of the known text. */
interface CodecCheck {
  readonly name: string;
  readonly text: string;
}

export interface CodecCheckParts {
  readonly store: Pick<Store, "reader" | "commit">;
  /** Retries a store call. The commit needs no coordinator: the event loop of an engine that is not open may stand still. */
  readonly withRetry: <T>(call: () => Promise<T>) => Promise<T>;
  readonly hook: CodecHook | null;
  /** Drops the checks that the codec cannot read, instead of rejecting it. */
  readonly accept: boolean;
}

/**
 * Rejects a codec that cannot read what the codecs of this store write. The store keeps a known text as each named codec has encoded it.
 *
 * 1. An engine opens only if its codec decodes every check. Comparing encoded texts would reject randomised encryption.
 * 2. A codec with a new name adds its check. So an engine without a key that is in use does not open.
 * 3. The first engine writes the first check, unless the store has runs and it can read none of the newest.
 */
export async function checkCodec({ store, withRetry, hook, accept }: CodecCheckParts): Promise<void> {
  const { reader } = store;
  const own = ownCheck(hook);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const seen = await withRetry(() => reader.document(CODEC_DOCUMENT.kind, CODEC_DOCUMENT.id));
    const checks = seen === null ? [] : checksIn(seen);
    if (checks.length === 0 && !accept) await withRetry(() => checkRuns(reader, hook));
    const unreadable = checks.filter((check) => !decodes(hook, check.text));
    if (unreadable.length > 0 && !accept) throw mismatch(own, unreadable);
    const kept = checks.filter((check) => !unreadable.includes(check));
    if (kept.length === checks.length && kept.some(({ name }) => name === own.name)) return;
    const next = kept.some(({ name }) => name === own.name) ? kept : [...kept, own];
    const revise = { kind: "revise", seen, document: documentOf(next), post: null } as const;
    const { answers } = await withRetry(() => store.commit([revise]));
    if (answers[0]?.kind === "applied") return;
  }
  throw new PawlError("STORE_UNAVAILABLE", "the codec check of the store kept changing; repeat the call");
}

/** Rejects a codec in a call that opens no engine. Writes nothing. */
export async function checkCodecReadOnly(reader: Pick<Reader, "document">, hook: CodecHook | null): Promise<void> {
  const seen = await reader.document(CODEC_DOCUMENT.kind, CODEC_DOCUMENT.id);
  const unreadable = seen === null ? [] : checksIn(seen).filter(({ text }) => !decodes(hook, text));
  if (unreadable.length > 0) throw mismatch({ name: nameOf(hook) }, unreadable);
}

function nameOf(hook: CodecHook | null): string {
  if (hook === null) return NO_CODEC;
  const name: unknown = hook.name ?? NAME_DEFAULT;
  if (typeof name === "string" && name !== "" && name !== NO_CODEC) return name;
  throw new PawlError("OPTION_INVALID", `the name of the codec must be text other than "" and "${NO_CODEC}"`);
}

function ownCheck(hook: CodecHook | null): CodecCheck {
  const check = { name: nameOf(hook), text: hook === null ? KNOWN_TEXT : encoded(hook) };
  if (decodes(hook, check.text)) return check;
  throw new PawlError(
    "OPTION_INVALID",
    "the codec does not decode what it encodes; decode must be the inverse of encode",
  );
}

function encoded(hook: CodecHook): string {
  try {
    const text: unknown = hook.encode(KNOWN_TEXT);
    if (typeof text === "string") return text;
    throw new TypeError(`encode must return a string; got ${typeof text}`);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PawlError("OPTION_INVALID", `the codec cannot encode a text: ${reason}`, { cause });
  }
}

function decodes(hook: CodecHook | null, text: string): boolean {
  if (hook === null) return text === KNOWN_TEXT;
  try {
    return hook.decode(text) === KNOWN_TEXT;
  } catch {
    // Any error means that this codec does not read the text.
    return false;
  }
}

/** A store of an earlier release has no checks. Its newest runs take their place. One readable run is enough: another may be damaged. */
async function checkRuns(reader: Pick<Reader, "list" | "journal">, hook: CodecHook | null): Promise<void> {
  const { items } = await reader.list({ limit: RUNS_MAX });
  let unreadable: Run | null = null;
  for (const run of items) {
    const records = await reader.journal(run.id, { afterSeq: run.baseSeq, limit: RECORDS_MAX });
    const payloads = [run.input, run.outcome, ...records.map(({ payload }) => payload)].filter((each) => each !== null);
    if (payloads.some((payload) => isJson(hook, payload))) return;
    if (payloads.length > 0) unreadable = run;
  }
  if (unreadable !== null) throw unreadableRun(unreadable, hook);
}

function isJson(hook: CodecHook | null, payload: string): boolean {
  try {
    JSON.parse(hook === null ? payload : hook.decode(payload));
    return true;
  } catch {
    // Any error means that this codec does not read the payload.
    return false;
  }
}

function checksIn({ body }: StoredDocument): readonly CodecCheck[] {
  try {
    const checks: unknown = JSON.parse(body ?? "[]");
    if (Array.isArray(checks) && checks.every(isCheck)) return checks;
  } catch {
    // The text is not JSON. It is handled like JSON that contains no checks.
  }
  return [DAMAGED];
}

function isCheck(value: unknown): value is CodecCheck {
  const { name, text } = (value ?? {}) as Partial<CodecCheck>;
  return typeof name === "string" && typeof text === "string";
}

function documentOf(checks: readonly CodecCheck[]): StoredDocument {
  return { ...CODEC_DOCUMENT, runId: null, body: JSON.stringify(checks), attributes: {} };
}

const CURE =
  "configure the codec of the store; if its old values may become unreadable, open one engine with acceptCodec: true";

function mismatch({ name }: Pick<CodecCheck, "name">, unreadable: readonly CodecCheck[]): PawlError {
  const names = unreadable.map((check) => described(check.name)).join(" and ");
  const message = `the store was written with ${names}; ${reader(name)} cannot read it; nothing was changed; ${CURE}`;
  return new PawlError("CODEC_MISMATCH", message);
}

function unreadableRun({ id }: Run, hook: CodecHook | null): PawlError {
  const message = `${reader(nameOf(hook))} cannot read the runs of the store, such as ${id}; nothing was changed; ${CURE}`;
  return new PawlError("CODEC_MISMATCH", message);
}

function reader(name: string): string {
  if (name === NO_CODEC) return "this engine, which has no codec,";
  return name === NAME_DEFAULT ? "the codec of this engine" : `codec ${name} of this engine`;
}

function described(name: string): string {
  if (name === NO_CODEC) return "no codec";
  return name === NAME_DEFAULT ? "another codec or key" : `codec ${name}`;
}

import { PawlError } from "../model/errors.ts";
import type { Op, OutcomeOf } from "../model/op.ts";
import type { CodecHook } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import type { StoredDocument } from "../model/transition.ts";
import type { Reader } from "../store/store.ts";

/** The document that holds the checks. Its body is plain JSON, so that an engine with any codec can read it. */
export const CODEC_DOCUMENT = { kind: "pawl codec", id: "checks" } as const;

/** The text that every codec of the store must decode. */
const KNOWN_TEXT = '{"pawl":"codec check"}';
const NO_CODEC = "none";
const NAME_DEFAULT = "codec";
/** The newest runs of a store without checks that an engine must be able to read. */
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
  readonly reader: Pick<Reader, "document" | "list" | "journal">;
  readonly hook: CodecHook | null;
  /** Drops the checks that the codec cannot read, instead of rejecting it. */
  readonly accept: boolean;
  readonly submit: <O extends Op>(op: O) => Promise<OutcomeOf<O>>;
}

/**
 * Rejects a codec that cannot read what the codecs of this store write. The store keeps a known text as each named codec has encoded it.
 *
 * 1. An engine opens only if its codec decodes every check. Comparing encoded texts would reject randomised encryption.
 * 2. A codec with a new name adds its check. So an engine without a key that is in use does not open.
 * 3. The first engine writes the first check, unless the store has runs that it cannot read.
 */
export async function checkCodec({ reader, hook, accept, submit }: CodecCheckParts): Promise<void> {
  const own = ownCheck(hook);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const seen = await reader.document(CODEC_DOCUMENT.kind, CODEC_DOCUMENT.id);
    const checks = seen === null ? [] : checksIn(seen);
    if (seen === null && !accept) await checkRuns(reader, hook);
    const unreadable = checks.filter((check) => !decodes(hook, check.text));
    if (unreadable.length > 0 && !accept) throw mismatch(own, unreadable);
    const kept = checks.filter((check) => !unreadable.includes(check));
    if (kept.length === checks.length && kept.some(({ name }) => name === own.name)) return;
    const next = kept.some(({ name }) => name === own.name) ? kept : [...kept, own];
    const { kind } = await submit({ kind: "revise", seen, document: documentOf(next), post: null });
    if (kind === "done") return;
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
  return hook === null ? NO_CODEC : (hook.name ?? NAME_DEFAULT);
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

/** A store of an earlier release has no checks. Its newest runs take their place. */
async function checkRuns(reader: Pick<Reader, "list" | "journal">, hook: CodecHook | null): Promise<void> {
  const { items } = await reader.list({ limit: RUNS_MAX });
  for (const run of items) {
    const records = await reader.journal(run.id, { afterSeq: run.baseSeq, limit: RECORDS_MAX });
    const payloads = [run.input, run.outcome, ...records.map(({ payload }) => payload)];
    for (const payload of payloads) if (payload !== null && !isJson(hook, payload)) throw unreadableRun(run, hook);
  }
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
  return body === null ? [] : (JSON.parse(body) as readonly CodecCheck[]);
}

function documentOf(checks: readonly CodecCheck[]): StoredDocument {
  return { ...CODEC_DOCUMENT, runId: null, body: JSON.stringify(checks), attributes: {} };
}

const CURE =
  "configure the codec of the store; if old values may become unreadable, open one engine with acceptCodec: true";

function mismatch({ name }: Pick<CodecCheck, "name">, unreadable: readonly CodecCheck[]): PawlError {
  const names = unreadable.map((check) => described(check.name)).join(", ");
  return new PawlError(
    "CODEC_MISMATCH",
    `the store was written with ${names}, which this engine, with ${ownName(name)}, cannot read; nothing was changed; ${CURE}`,
  );
}

function ownName(name: string): string {
  return name === NAME_DEFAULT ? "its codec" : described(name);
}

function unreadableRun({ id }: Run, hook: CodecHook | null): PawlError {
  return new PawlError(
    "CODEC_MISMATCH",
    `the store has run ${id}, which this engine, with ${ownName(nameOf(hook))}, cannot read; nothing was changed; ${CURE}`,
  );
}

function described(name: string): string {
  if (name === NO_CODEC) return "no codec";
  return name === NAME_DEFAULT ? "another codec or key" : `codec ${name}`;
}

import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { LEFTOVER_POLICY } from "../model/inbox.ts";
import { checkTarget } from "../model/names.ts";
import type { Op } from "../model/op.ts";
import { kinds, optionTable } from "../model/option-check.ts";
import { type Codec, createCodec } from "../model/payload.ts";
import type { NewRun, Run } from "../model/run.ts";
import { checkSchema } from "../model/schema.ts";
import { LIMIT_KINDS, type LimitOptions, limitsOfStart } from "../model/start-limits.ts";
import { EMIT_KINDS, eventPost, SEND_KINDS } from "../runner/ops/post.ts";
import type { SendOptions, WorkflowDeclaration } from "../workflow/ctx.ts";
import { type EventOptions, type MessageType, readMessage, readTopic, type TopicType } from "../workflow/messages.ts";
import type { EngineConfig } from "./config.ts";
import type { WithinTx } from "./within-transaction.ts";

export interface StartOptions extends WithinTx, LimitOptions {
  /** The run's id. A second start with the same id, workflow and input returns the existing run. Default: a new id. */
  readonly id?: string;
  /**
   * If a run with this id exists: `use` returns it if its workflow and input are the same, `fail` rejects with `RUN_EXISTS`. `restart` starts a
   * run that has ended again, as its next generation, and is like `use` for an open one. Default `use`.
   */
  readonly onConflict?: "use" | "fail" | "restart";
  readonly tags?: readonly string[];
  /** Time until the run starts. Default 0. */
  readonly delay?: Duration;
}

export type OnConflict = NonNullable<StartOptions["onConflict"]>;

export const START_OPTIONS = optionTable<StartOptions>("start", {
  id: kinds.newRunId,
  onConflict: kinds.oneOf("use", "fail", "restart"),
  tags: kinds.tags,
  delay: kinds.duration,
  ...LIMIT_KINDS,
  tx: kinds.value,
});
export const SEND_OPTIONS = optionTable<SendOptions & WithinTx>("send", { ...SEND_KINDS, tx: kinds.value });
export const EMIT_OPTIONS = optionTable<EmitOptions & WithinTx>("emit", { ...EMIT_KINDS, tx: kinds.value });

export type EmitOptions = EventOptions & { readonly id?: string };

const NO_TAGS: readonly string[] = [];

/** Builds the run of a `start` call from checked options. `owner` is the worker that executes it at once, unless it has a delay. */
export function newRun(
  config: EngineConfig,
  codec: Codec,
  workflow: WorkflowDeclaration,
  input: unknown,
  options: StartOptions,
  owner: string | null,
): NewRun {
  const { random } = config.world;
  const now = config.store.now();
  const id = options.id ?? random.id(now);
  const { input: schema } = workflow.options;
  const checked = schema === undefined ? input : checkSchema(schema, input, `input of run ${id}`);
  const delayMs = options.delay === undefined ? 0 : parseDuration(options.delay, "delay");
  return {
    id,
    workflow: workflow.name,
    version: workflow.version,
    input: codec.encode(checked, `input of run ${id}`),
    tags: options.tags ?? NO_TAGS,
    parent: null,
    createdAt: now,
    // A generated run id is unique to this call, so it also serves as the start id.
    startId: options.id === undefined ? id : random.id(now),
    owner: delayMs === 0 ? owner : null,
    ...limitsOfStart(options, { at: now, startAt: now + delayMs }, null),
  };
}

/** Compares values before encoding: a codec hook may encrypt the same value differently each time. */
const PLAIN = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

/** Whether the existing run matches the start. The first input of a continued run is not stored, so it is not compared. */
function isSameStart(codec: Codec, run: Run, requested: NewRun, isFirst: boolean): boolean {
  if (run.workflow !== requested.workflow) return false;
  return !isFirst || run.input === requested.input || plainText(codec, run) === plainText(codec, requested);
}

/** Throws if an existing run with the id of a start does not match the start. `isFirst` if its input is that of its latest start. */
export function checkConflict(
  codec: Codec,
  run: Run,
  requested: NewRun,
  { onConflict, isFirst }: { readonly onConflict: OnConflict; readonly isFirst: boolean },
): void {
  if (onConflict !== "fail" && isSameStart(codec, run, requested, isFirst)) return;
  const other = run.workflow === requested.workflow ? "a different input" : `workflow ${run.workflow}`;
  const exists = `run ${requested.id} already exists`;
  const why = onConflict === "fail" ? `${exists}, and onConflict is "fail"` : `${exists} with ${other}`;
  throw new PawlError("RUN_EXISTS", `${why}; no run was started`);
}

function plainText(codec: Codec, run: Pick<Run, "input">): string | null {
  return PLAIN.encode(codec.decode(run.input, "the input of the existing run"), "input");
}

/** The configuration for building sends and emits. */
export type PostingConfig = EngineConfig & { readonly codecInUse: Codec };

/** `options` are checked. */
export function sendOp<Value>(
  { store, world, codecInUse }: PostingConfig,
  runId: string,
  message: string | MessageType<Value>,
  value: Value,
  options: SendOptions,
): Extract<Op, { kind: "send" }> {
  const { message: name, schema } = readMessage(message);
  const checked = schema === null ? value : checkSchema(schema, value, `message ${name}`);
  const at = store.now();
  return {
    kind: "send",
    post: {
      kind: "message",
      to: checkTarget(runId),
      id: options.id ?? world.random.id(at),
      name,
      value: codecInUse.encode(checked, `message ${name}`),
      at,
      onTargetTerminated: options.onTargetTerminated ?? LEFTOVER_POLICY,
      from: null,
    },
  };
}

/** `options` are checked. */
export function emitOp<Value>(
  config: PostingConfig,
  topic: string | TopicType<Value>,
  value: Value,
  options: EmitOptions,
): Extract<Op, { kind: "emit" }> {
  const { store, world, codecInUse } = config;
  const at = store.now();
  const id = options.id ?? world.random.id(at);
  const settings = { ...config, codec: codecInUse };
  return { kind: "emit", post: eventPost(readTopic(topic), value, { ...options, id }, at, settings) };
}

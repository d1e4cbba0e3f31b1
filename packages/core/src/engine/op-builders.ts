import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { checkName, checkRunId, checkTarget } from "../model/names.ts";
import type { Op } from "../model/op.ts";
import { type Codec, createCodec } from "../model/payload.ts";
import type { NewRun, Run } from "../model/run.ts";
import { checkSchema } from "../model/schema.ts";
import { messageName } from "../runner/ops/listen.ts";
import { eventPost } from "../runner/ops/post.ts";
import type { SendOptions, WorkflowDeclaration } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import type { EngineConfig } from "./config.ts";
import type { WithinTx } from "./within-transaction.ts";

export interface StartOptions extends WithinTx {
  /** Unique among runs. Starting again with the same id, workflow and input gives the run that exists. Default: a fresh one. */
  readonly id?: string;
  /** `use` (default): the run that exists, if its workflow and input are the same. `fail`: an error, code `RUN_EXISTS`. */
  readonly onConflict?: "use" | "fail";
  readonly tags?: readonly string[];
  /** Not begun before this much time has passed. */
  readonly delay?: Duration;
}

const NO_TAGS: readonly string[] = [];

/** The run that a call to start asks for. `owner` is the worker that takes it at once, unless it has to wait. */
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
  const id = options.id === undefined ? random.id(now) : checkRunId(options.id);
  const { input: schema } = workflow.options;
  const checked = schema === undefined ? input : checkSchema(schema, input, `input of run ${id}`);
  const delayMs = options.delay === undefined ? 0 : parseDuration(options.delay, "delay");
  return {
    id,
    workflow: workflow.name,
    version: workflow.version,
    input: codec.encode(checked, `input of run ${id}`),
    tags: options.tags?.map((tag) => checkName(tag, "tag")) ?? NO_TAGS,
    parent: null,
    createdAt: now,
    // A fresh id is of no other call.
    startId: options.id === undefined ? id : random.id(now),
    owner: delayMs === 0 ? owner : null,
    startAt: now + delayMs,
  };
}

/** Compares values as they are, whatever a codec hook makes of them: the same value may be encrypted in many ways. */
const PLAIN = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

/** Whether a run that exists is what the call asks for. A continued run has another input by now. */
function isSameStart(codec: Codec, run: Run, asked: NewRun): boolean {
  if (run.workflow !== asked.workflow) return false;
  return run.generation > 0 || run.input === asked.input || plainText(codec, run) === plainText(codec, asked);
}

/** Refuses a start whose id another run has. */
export function checkConflict(codec: Codec, run: Run, asked: NewRun, onConflict: "use" | "fail"): void {
  if (onConflict === "use" && isSameStart(codec, run, asked)) return;
  const other = run.workflow === asked.workflow ? "its input is another" : `it is of workflow ${run.workflow}`;
  const why = onConflict === "fail" ? "onConflict is fail" : other;
  throw new PawlError("RUN_EXISTS", `run ${asked.id} exists, and ${why}; nothing was started`);
}

function plainText(codec: Codec, run: Pick<Run, "input">): string | null {
  return PLAIN.encode(codec.decode(run.input), "input");
}

/** What calls of the engine that post need to know. */
export type PostingConfig = EngineConfig & { readonly codecInUse: Codec };

export function sendOp<Value>(
  { store, world, codecInUse }: PostingConfig,
  runId: string,
  message: string | MessageType<Value>,
  value: Value,
  options: SendOptions,
): Extract<Op, { kind: "send" }> {
  const name = checkName(messageName(message), "message name");
  const schema = typeof message === "string" ? null : message.schema;
  const checked = schema === null ? value : checkSchema(schema, value, `message ${name}`);
  const at = store.now();
  return {
    kind: "send",
    post: {
      kind: "message",
      to: checkTarget(runId),
      id: options.id === undefined ? world.random.id(at) : checkName(options.id, "message id"),
      name,
      value: codecInUse.encode(checked, `message ${name}`),
      at,
      onTargetTerminated: options.onTargetTerminated ?? "discard",
      from: null,
    },
  };
}

export function emitOp<Value>(
  config: PostingConfig,
  topic: string | TopicType<Value>,
  value: Value,
  options: EventOptions & { readonly id?: string },
): Extract<Op, { kind: "emit" }> {
  const { store, world, codecInUse } = config;
  const at = store.now();
  const id = options.id === undefined ? world.random.id(at) : checkName(options.id, "event id");
  return { kind: "emit", post: eventPost(topic, value, { ...options, id }, at, { ...config, codec: codecInUse }) };
}

import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { kinds, type OptionKinds, openTable, optionTable, readOptions } from "../model/option-check.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import {
  CODE_KINDS,
  type CodeOptions,
  NO_POLICY,
  POLICY_KINDS,
  type PolicyOptions,
  type RunPolicy,
  resolvePolicy,
} from "../model/policy.ts";
import { PLAIN_RETRY, type PlainRetryOptions, type ResolvedRetry, resolveRetry } from "../model/retry.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import { EMPTY_CONTEXT } from "../runtime/async-context.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type EventLoop, systemEventLoop } from "../runtime/event-loop.ts";
import { exitProcess } from "../runtime/exit.ts";
import { consoleLog, guardedLog, type Log } from "../runtime/log.ts";
import { type Processes, systemProcesses } from "../runtime/processes.ts";
import { type Random, systemRandom } from "../runtime/random.ts";
import { type TrackRejections, trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Store } from "../store/store.ts";
import type { Retention } from "../worker/retention-loop.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { RETENTION, type RetentionOptions, resolveRetention } from "./retention.ts";

export interface EngineOptions extends PolicyOptions, CodeOptions {
  readonly store: Store;
  /** Workflows this engine executes, in every version that has open runs. Default: none; the engine is a client. */
  readonly workflows?: readonly AnyWorkflow[];
  /** Runs executed at the same time. Suspended runs do not count. Default 1,000. */
  readonly concurrency?: number;
  /** Suspended runs kept in memory; they resume without replay. 0 keeps none. Default 10,000. */
  readonly hotRuns?: number;
  /** The maximum bytes of payloads of suspended runs kept in memory. Default 256 MiB. */
  readonly hotBytes?: number;
  /** Time without a heartbeat after which other workers take over this worker's runs. Default 15 s. */
  readonly lease?: Duration;
  /** Interval at which the store is polled for work. Notifications usually arrive sooner. Default 1 s. */
  readonly poll?: Duration;
  /** Counted claims without progress after which a run fails with `POISONED`. A claim beside other suspects does not count. At least 4. Default 5. */
  readonly claimsMax?: number;
  /** Whether a run that fails with `POISONED` is compensated, or keeps what it did for an operator to decide. Default `compensate`. */
  readonly poisoned?: "compensate" | "keep";
  /**
   * How long running step bodies may continue after their run failed or was cancelled. Their signals are aborted first, and results
   * within this time are recorded and rolled back. Default 10 s.
   */
  readonly grace?: Duration;
  /** Retries of a failed store call. After the last attempt the worker stops claiming until the store is back. Default: 8 attempts, 20 ms to 2 s apart. */
  readonly storageRetryPolicy?: PlainRetryOptions;
  /** How long a call waits for the store. Then it rejects with `STORE_UNAVAILABLE`. Default 10 s. */
  readonly storageTimeout?: Duration;
  /** Ends the process with this exit code when an internal invariant is violated. Default: only `engine.broken` is emitted. */
  readonly exitCodeWhenBroken?: number;
  /** Timers that are due within this time of each other fire together. Default 1 ms. */
  readonly timerResolution?: Duration;
  /** Whether awaiting a failed child throws. False returns `undefined` instead. Default true. */
  readonly propagateChildFailures?: boolean;
  /** The maximum number of pending events per topic. The oldest events above it become dead letters. Default 10,000. */
  readonly maxPendingEventsPerType?: number;
  /** How long an event is kept for later waiters. Default 7 days. */
  readonly eventRetention?: Duration;
  /** How long ended runs and dead letters are kept. Default: forever. */
  readonly retention?: RetentionOptions;
  /** The maximum size of a stored value, in bytes. Values above an eighth of it are logged. Default 2 MiB, at most 32 MiB. */
  readonly payloadBytesMax?: number;
  /** Encodes every stored value, including failures. For compression and encryption. Default: none. */
  readonly codec?: CodecHook;
  /**
   * Opens although the codec cannot read what other codecs have written to this store, and removes their checks. Runs that need an
   * unreadable value are paused with `PAYLOAD_UNREADABLE`. Default false.
   */
  readonly acceptCodec?: boolean;
  /** Receives log lines. Default: the console. */
  readonly log?: Log;
  /** Clock, randomness and event loop. Tests and the simulator pass their own. Default: the platform's. */
  readonly world?: Partial<World>;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly eventLoop: EventLoop;
  /** Attributes unhandled rejections to runs. */
  readonly trackRejections?: TrackRejections;
  /** Ends the process, if `exitCodeWhenBroken` is set. */
  readonly exit?: (code: number) => void;
  /** The processes of this host. Null if none can be told apart. Default: the platform's, and null if `clock` is set. */
  readonly processes?: Processes | null;
}

export interface EngineConfig {
  readonly store: Store;
  /** By `workflowKey`. */
  readonly workflows: Map<string, AnyWorkflow>;
  readonly concurrency: number;
  readonly hotRuns: number;
  readonly hotBytes: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly claimsMax: number;
  readonly poisoned: "compensate" | "keep";
  readonly graceMs: number;
  readonly storageRetry: ResolvedRetry;
  readonly storageTimeoutMs: number;
  /** Null keeps the process alive. */
  readonly exitCodeWhenBroken: number | null;
  readonly timerResolutionMs: number;
  readonly propagateChildFailures: boolean;
  readonly pendingMax: number;
  readonly eventRetentionMs: number;
  readonly retention: Retention;
  readonly policy: RunPolicy;
  readonly codeErrors: "pause" | "fail";
  /** Null if the application names none. */
  readonly revision: string | null;
  readonly payloadBytesMax: number;
  readonly codec: CodecHook | null;
  readonly acceptCodec: boolean;
  /** Called in the empty asynchronous context. */
  readonly log: Log;
  /** For `ctx.log`: called in the context of the workflow code. */
  readonly codeLog: Log;
  readonly world: Required<World>;
}

const STORAGE_RETRY: ResolvedRetry = {
  maxAttempts: 8,
  initialMs: 20,
  factor: 2,
  maxMs: 2_000,
  jitter: 0.2,
  shouldRetry: null,
  delay: null,
};

/** A larger payload, escaped, might not fit into one statement of a store. */
const PAYLOAD_BYTES_LIMIT = 32 * 1024 * 1024;

/** The fourth claim is the first in which a suspect is executed alone. With fewer, a run could fail that crashed no worker. */
const CLAIMS_MIN = 4;

/** The largest exit code of a process. */
const EXIT_CODE_MAX = 255;

const STORE_METHODS = ["open", "now", "commit", "claim", "dueRuns", "load", "heartbeat", "retire", "watch", "close"];

const WORLD = openTable<Partial<World>>("the world", {
  clock: kinds.withMethods("a clock", "now", "wakeAt"),
  random: kinds.withMethods("a source of randomness", "next", "id"),
  eventLoop: kinds.withMethods("an event loop", "whenIdle", "afterTurn"),
  trackRejections: kinds.callback,
  exit: kinds.callback,
  processes: kinds.nullable(kinds.withMethods("the processes of a host", "hasEnded")),
});

export const STORE = kinds.withMethods("a store, such as memoryStore()", ...STORE_METHODS);

/** The kinds of these options, for each table that has them. */
export const ENGINE_KINDS = {
  store: kinds.required(STORE),
  workflows: kinds.list(kinds.value),
  concurrency: kinds.integer(1),
  hotRuns: kinds.integer(0),
  hotBytes: kinds.integer(1),
  lease: kinds.period,
  poll: kinds.period,
  claimsMax: kinds.integer(CLAIMS_MIN),
  poisoned: kinds.oneOf("compensate", "keep"),
  grace: kinds.duration,
  storageRetryPolicy: PLAIN_RETRY,
  storageTimeout: kinds.period,
  exitCodeWhenBroken: kinds.integer(0, EXIT_CODE_MAX),
  timerResolution: kinds.period,
  propagateChildFailures: kinds.flag,
  maxPendingEventsPerType: kinds.integer(1),
  eventRetention: kinds.period,
  retention: RETENTION,
  payloadBytesMax: kinds.integer(1, PAYLOAD_BYTES_LIMIT),
  codec: kinds.withMethods("an object with encode and decode", "encode", "decode"),
  acceptCodec: kinds.flag,
  log: kinds.callback,
  world: kinds.options(WORLD),
  ...POLICY_KINDS,
  ...CODE_KINDS,
} as const satisfies OptionKinds<EngineOptions>;

const ENGINE_OPTIONS = optionTable<EngineOptions>("createEngine", ENGINE_KINDS);

/** Checks the options and fills in the defaults. */
export function resolveConfig(given: EngineOptions): EngineConfig {
  const options = readOptions(ENGINE_OPTIONS, given);
  const { world = {} } = options;
  const log = guardedLog(options.log ?? consoleLog());
  const eventRetentionMs = parseDuration(options.eventRetention ?? "7 days", "eventRetention");
  return {
    store: options.store,
    workflows: registry(options.workflows ?? []),
    concurrency: options.concurrency ?? 1_000,
    hotRuns: options.hotRuns ?? 10_000,
    hotBytes: options.hotBytes ?? 256 * 1024 * 1024,
    leaseMs: parseDuration(options.lease ?? "15s", "lease"),
    pollMs: parseDuration(options.poll ?? "1s", "poll"),
    claimsMax: options.claimsMax ?? 5,
    poisoned: options.poisoned ?? "compensate",
    graceMs: parseDuration(options.grace ?? "10 s", "grace"),
    storageRetry: resolveRetry(options.storageRetryPolicy, STORAGE_RETRY),
    storageTimeoutMs: parseDuration(options.storageTimeout ?? "10 s", "storageTimeout"),
    exitCodeWhenBroken: options.exitCodeWhenBroken ?? null,
    timerResolutionMs: parseDuration(options.timerResolution ?? 1, "timerResolution"),
    propagateChildFailures: options.propagateChildFailures ?? true,
    pendingMax: options.maxPendingEventsPerType ?? 10_000,
    eventRetentionMs,
    policy: resolvePolicy(options, NO_POLICY),
    codeErrors: options.codeErrors ?? "pause",
    revision: options.revision ?? null,
    retention: resolveRetention(options.retention ?? {}, eventRetentionMs),
    payloadBytesMax: options.payloadBytesMax ?? 2 * 1024 * 1024,
    codec: options.codec ?? null,
    acceptCodec: options.acceptCodec ?? false,
    log: (level, text, fields) => EMPTY_CONTEXT.runInAsyncScope(() => log(level, text, fields)),
    codeLog: log,
    world: {
      clock: world.clock ?? systemClock(),
      random: world.random ?? systemRandom(),
      eventLoop: world.eventLoop ?? systemEventLoop(),
      trackRejections: world.trackRejections ?? trackUnhandledRejections,
      exit: world.exit ?? exitProcess,
      processes: world.processes === undefined ? processesFor(world) : world.processes,
    },
  };
}

/** A world with a clock of its own has no processes: they live in real time. */
function processesFor({ clock }: Partial<World>): Processes | null {
  return clock === undefined ? systemProcesses() : null;
}

function registry(workflows: readonly AnyWorkflow[]): Map<string, AnyWorkflow> {
  const byKey = new Map<string, AnyWorkflow>();
  for (const each of workflows) {
    const workflow = checkWorkflow(each);
    if (addWorkflow(byKey, workflow)) continue;
    throw new PawlError(
      "WORKFLOW_DUPLICATE",
      `duplicate workflow ${workflow.name} version ${workflow.version}; change the name or the version of one`,
    );
  }
  return byKey;
}

/** False if the map already has a workflow with this name and version. */
export function addWorkflow(byKey: Map<string, AnyWorkflow>, workflow: AnyWorkflow): boolean {
  const key = workflowKey(workflow);
  if (byKey.has(key)) return false;
  byKey.set(key, workflow);
  return true;
}

/** The codec of an engine. Logs large payloads. */
export function codecOf({ codec, payloadBytesMax, log }: EngineConfig): Codec {
  return createCodec(codec, {
    bytesMax: payloadBytesMax,
    warnBytes: Math.floor(payloadBytesMax / 8),
    onLarge: (what, bytes) => log("warn", "large payload", { what, bytes, payloadBytesMax }),
  });
}

import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import { NO_POLICY, type PolicyOptions, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import { type ResolvedRetry, type RetryOptions, resolveRetry } from "../model/retry.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import { EMPTY_CONTEXT } from "../runtime/async-context.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type EventLoop, systemEventLoop } from "../runtime/event-loop.ts";
import { exitProcess } from "../runtime/exit.ts";
import { consoleLog, type Log } from "../runtime/log.ts";
import { type Random, systemRandom } from "../runtime/random.ts";
import { type TrackRejections, trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Store } from "../store/store.ts";
import type { Retention } from "../worker/retention-loop.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { type RetentionOptions, resolveRetention } from "./retention.ts";

export interface EngineOptions extends PolicyOptions {
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
  /** Claims without progress after which a run fails with `POISONED`. Default 5. */
  readonly claimsMax?: number;
  /** Retries of a failed store call. After the last attempt the worker stops claiming until the store is back. Default: 8 attempts, 20 ms to 2 s apart. */
  readonly storageRetryPolicy?: RetryOptions;
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
};

/** Checks the options and fills in the defaults. */
export function resolveConfig(options: EngineOptions): EngineConfig {
  const { world = {} } = options;
  const log = options.log ?? consoleLog();
  const eventRetentionMs = positive(options.eventRetention ?? "7 days", "eventRetention");
  return {
    store: options.store,
    workflows: registry(options.workflows ?? []),
    concurrency: count(options.concurrency ?? 1_000, "concurrency"),
    hotRuns: options.hotRuns === 0 ? 0 : count(options.hotRuns ?? 10_000, "hotRuns"),
    hotBytes: count(options.hotBytes ?? 256 * 1024 * 1024, "hotBytes"),
    leaseMs: positive(options.lease ?? "15s", "lease"),
    pollMs: positive(options.poll ?? "1s", "poll"),
    claimsMax: count(options.claimsMax ?? 5, "claimsMax"),
    storageRetry: resolveRetry(options.storageRetryPolicy, STORAGE_RETRY),
    storageTimeoutMs: positive(options.storageTimeout ?? "10 s", "storageTimeout"),
    exitCodeWhenBroken: exitCode(options.exitCodeWhenBroken),
    timerResolutionMs: positive(options.timerResolution ?? 1, "timerResolution"),
    propagateChildFailures: options.propagateChildFailures ?? true,
    pendingMax: count(options.maxPendingEventsPerType ?? 10_000, "maxPendingEventsPerType"),
    eventRetentionMs,
    policy: resolvePolicy(options, NO_POLICY),
    retention: resolveRetention(options.retention ?? {}, eventRetentionMs),
    payloadBytesMax: payloadLimit(options.payloadBytesMax),
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
    },
  };
}

function registry(workflows: readonly AnyWorkflow[]): Map<string, AnyWorkflow> {
  const byKey = new Map<string, AnyWorkflow>();
  for (const workflow of workflows) {
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
  checkWorkflow(workflow);
  const key = workflowKey(workflow);
  if (byKey.has(key)) return false;
  byKey.set(key, workflow);
  return true;
}

function count(value: number, option: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new PawlError("OPTION_INVALID", `${option} must be a positive integer; got ${value}`);
}

function exitCode(code: number | undefined): number | null {
  if (code === undefined || (Number.isInteger(code) && code >= 0 && code <= 255)) return code ?? null;
  throw new PawlError("OPTION_INVALID", `exitCodeWhenBroken must be an integer from 0 to 255; got ${code}`);
}

/** A larger payload, escaped, might not fit into one statement of a store. */
const PAYLOAD_BYTES_LIMIT = 32 * 1024 * 1024;

function payloadLimit(value = 2 * 1024 * 1024): number {
  const bytes = count(value, "payloadBytesMax");
  if (bytes <= PAYLOAD_BYTES_LIMIT) return bytes;
  throw new PawlError(
    "OPTION_INVALID",
    `payloadBytesMax must be at most ${PAYLOAD_BYTES_LIMIT}; got ${bytes}. Store larger values elsewhere and pass a reference`,
  );
}

function positive(duration: Duration, option: string): number {
  const ms = parseDuration(duration, option);
  if (ms > 0) return ms;
  throw new PawlError("OPTION_INVALID", `${option} must be longer than 0; got ${duration}`);
}

/** The codec of an engine. Logs large payloads. */
export function codecOf({ codec, payloadBytesMax, log }: EngineConfig): Codec {
  return createCodec(codec, {
    bytesMax: payloadBytesMax,
    warnBytes: Math.floor(payloadBytesMax / 8),
    onLarge: (what, bytes) => log("warn", "large payload", { what, bytes, payloadBytesMax }),
  });
}

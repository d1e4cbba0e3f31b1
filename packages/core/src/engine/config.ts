import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Codec, type CodecHook, createCodec } from "../model/payload.ts";
import { NO_POLICY, type PolicyOptions, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import { type ResolvedRetry, type RetryOptions, resolveRetry } from "../model/retry.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type EventLoop, systemEventLoop } from "../runtime/event-loop.ts";
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
  /** What this engine can run; of one name, as many versions as there are runs of. Without any it is a client: it starts, sends and reads, and leaves the work to others. */
  readonly workflows?: readonly AnyWorkflow[];
  /** Runs that are worked on at a time. Suspended ones don't count. Default 1,000. */
  readonly concurrency?: number;
  /** Suspended runs that stay in memory, so that waking them replays nothing; 0: none does. Default 10,000. */
  readonly hotRuns?: number;
  /** Bytes of payloads that suspended runs in memory may hold. Default 256 MiB. */
  readonly hotBytes?: number;
  /** How long a silent worker is taken for alive. Default 15 s. */
  readonly lease?: Duration;
  /** How often the store is asked for work, whatever hints come. Default 1 s. */
  readonly poll?: Duration;
  /** After how many claims without progress a run is parked as failed, code `POISONED`. Default 5. */
  readonly claimsMax?: number;
  /** How the store is asked again when it fails; after that the worker stops claiming until the store is back. */
  readonly storageRetryPolicy?: RetryOptions;
  /** Timers that lie closer together than this come together. Default 1 ms. */
  readonly timerResolution?: Duration;
  /** Whether awaiting a failed child throws. Default true; false gives `undefined` in its place. */
  readonly propagateChildFailures?: boolean;
  /** Events that may wait on a topic; the oldest beyond it become dead letters. Default 10,000. */
  readonly maxPendingEventsPerType?: number;
  /** How long an event is kept for those who come later. Default 7 days. */
  readonly eventRetention?: Duration;
  /** How long runs that have ended, and dead letters, are kept. Default: for ever. */
  readonly retention?: RetentionOptions;
  /** The largest value that is stored, in bytes. Default 2 MiB; a warning is logged above an eighth of it. */
  readonly payloadBytesMax?: number;
  /** Applied to every value that is stored, failures included: compression, encryption. */
  readonly codec?: CodecHook;
  readonly log?: Log;
  /** The outside world. Tests and the simulator give their own. */
  readonly world?: Partial<World>;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly eventLoop: EventLoop;
  /** How a rejection that nobody handles is known to be a run's. */
  readonly trackRejections?: TrackRejections;
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
  readonly timerResolutionMs: number;
  readonly propagateChildFailures: boolean;
  readonly pendingMax: number;
  readonly eventRetentionMs: number;
  readonly retention: Retention;
  readonly policy: RunPolicy;
  readonly payloadBytesMax: number;
  readonly codec: CodecHook | null;
  readonly log: Log;
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

/** The options with their defaults, checked. */
export function resolveConfig(options: EngineOptions): EngineConfig {
  const { world = {} } = options;
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
    timerResolutionMs: positive(options.timerResolution ?? 1, "timerResolution"),
    propagateChildFailures: options.propagateChildFailures ?? true,
    pendingMax: count(options.maxPendingEventsPerType ?? 10_000, "maxPendingEventsPerType"),
    eventRetentionMs,
    policy: resolvePolicy(options, NO_POLICY),
    retention: resolveRetention(options.retention ?? {}, eventRetentionMs),
    payloadBytesMax: count(options.payloadBytesMax ?? 2 * 1024 * 1024, "payloadBytesMax"),
    codec: options.codec ?? null,
    log: options.log ?? consoleLog(),
    world: {
      clock: world.clock ?? systemClock(),
      random: world.random ?? systemRandom(),
      eventLoop: world.eventLoop ?? systemEventLoop(),
      trackRejections: world.trackRejections ?? trackUnhandledRejections,
    },
  };
}

function registry(workflows: readonly AnyWorkflow[]): Map<string, AnyWorkflow> {
  const byKey = new Map<string, AnyWorkflow>();
  for (const workflow of workflows) {
    if (addWorkflow(byKey, workflow)) continue;
    throw new PawlError(
      "WORKFLOW_DUPLICATE",
      `two workflows are named ${workflow.name} and have version ${workflow.version}; give each its own name or version`,
    );
  }
  return byKey;
}

/** False: its name and version are taken. */
export function addWorkflow(byKey: Map<string, AnyWorkflow>, workflow: AnyWorkflow): boolean {
  checkWorkflow(workflow);
  const key = workflowKey(workflow);
  if (byKey.has(key)) return false;
  byKey.set(key, workflow);
  return true;
}

function count(value: number, option: string): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new PawlError("OPTION_INVALID", `${option} is ${value}; it has to be a whole number above 0`);
}

function positive(duration: Duration, option: string): number {
  const ms = parseDuration(duration, option);
  if (ms > 0) return ms;
  throw new PawlError("OPTION_INVALID", `${option} is ${duration}; it has to be longer than 0`);
}

/** What makes payloads of values, and tells of those that come near the limit. */
export function codecOf({ codec, payloadBytesMax, log }: EngineConfig): Codec {
  return createCodec(codec, {
    bytesMax: payloadBytesMax,
    warnBytes: Math.floor(payloadBytesMax / 8),
    onLarge: (what, bytes) =>
      log("warn", `${what} is large: values above ${payloadBytesMax} bytes are refused`, { bytes }),
  });
}

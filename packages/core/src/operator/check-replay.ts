import { type EngineOptions, resolveConfig } from "../engine/config.ts";
import { PawlError } from "../model/errors.ts";
import { hash32 } from "../model/hash.ts";
import { type Codec, createCodec } from "../model/payload.ts";
import type { Run, Status } from "../model/run.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import type { Reader, Store } from "../store/store.ts";
import { findIn, type ReplayFinding } from "./replay-finding.ts";

/** Runs that have not ended. */
const OPEN: readonly Status[] = ["pending", "running", "suspended", "paused", "compensating"];
/** Runs are read a page at a time, and one journal at a time. */
const PAGE_RUNS = 50;
const FINDINGS_MAX = 1_000;

export interface CheckReplayOptions extends Pick<EngineOptions, "codec" | "world"> {
  /** The code that is to be deployed. Runs of other workflows are counted, not checked. */
  readonly workflows: NonNullable<EngineOptions["workflows"]>;
  /** Is opened and closed; nothing of it is changed. */
  readonly store: Store;
  /** The store is in use by an engine of this process: it is neither opened nor closed. */
  readonly keepOpen?: boolean;
  /** The share of the runs that is checked, above 0 and at most 1: always the same ones. Default 1: all. */
  readonly sample?: number;
  /** How many runs are checked at most. Default: all. */
  readonly limit?: number;
  /** Findings beyond it are counted, not kept. Default 1,000. */
  readonly findingsMax?: number;
  /** Called after each run. */
  readonly onProgress?: (progress: CheckProgress) => void;
  /** Called with each finding, also with those that are not kept. */
  readonly onFinding?: (finding: ReplayFinding) => void;
}

export interface CheckProgress {
  readonly checked: number;
  /** Open runs there were when the check began. */
  readonly open: number;
  readonly findings: number;
}

export interface ReplayReport {
  /** Whether every run that was checked goes on with this code. */
  readonly ok: boolean;
  readonly checked: number;
  /** Open runs there were when the check began. */
  readonly open: number;
  /** How many there were; `findings` holds at most `findingsMax` of them. */
  readonly findingCount: number;
  readonly findings: readonly ReplayFinding[];
  /** Open runs of workflows that were not given, by name. */
  readonly unknown: Readonly<Record<string, number>>;
}

/**
 * Replays the open runs of a store against code that is to be deployed, without any effect: no step runs, nothing is written,
 * `ctx.log` is silent. Names each run that would not go on, with the location, what is recorded there and what the code asks for.
 *
 * ```ts
 * const report = await checkReplay({ store: sqliteStore("app.db"), workflows: [order] });
 * if (!report.ok) throw new Error(report.findings.map(({ message }) => message).join("\n"));
 * ```
 */
export async function checkReplay(options: CheckReplayOptions): Promise<ReplayReport> {
  const { store, workflows, sample = 1, limit = Number.POSITIVE_INFINITY } = options;
  if (!(sample > 0 && sample <= 1))
    throw new PawlError("OPTION_INVALID", `sample is ${sample}; it has to be above 0 and at most 1`);
  const config = resolveConfig({ ...options, log: () => undefined });
  const { clock } = config.world;
  if (options.keepOpen !== true) await store.open({ now: () => clock.now(), every: () => () => undefined });
  const rejections = trackUnhandledRejections(() => undefined);
  try {
    const codec = plainCodec(options);
    const programs = new ProgramRegistry(workflows, { ...config, codec });
    const known = new Set(workflows.map(({ name }) => name));
    const check = new Check(options, await store.reader.count({ status: OPEN }));
    for await (const run of openRuns(store.reader)) {
      if (!known.has(run.workflow)) check.unknown(run.workflow);
      else if (isSampled(run.id, sample)) {
        if (check.checked >= limit) break;
        const world = {
          codec,
          eventLoop: config.world.eventLoop,
          random: config.world.random,
          watched: rejections.watched,
        };
        check.found(await findIn({ store, programs, world }, run));
      }
    }
    return check.report();
  } finally {
    rejections.stop();
    if (options.keepOpen !== true) await store.close();
  }
}

/** Values are read as the engine wrote them; how large they may be is not for a check to say. */
function plainCodec({ codec }: Pick<CheckReplayOptions, "codec">): Codec {
  const bytesMax = Number.MAX_SAFE_INTEGER;
  return createCodec(codec ?? null, { bytesMax, warnBytes: bytesMax, onLarge: () => undefined });
}

async function* openRuns(reader: Reader): AsyncGenerator<Run> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<Reader["list"]>> = await reader.list({
      status: OPEN,
      limit: PAGE_RUNS,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.items;
    cursor = page.cursor;
  }
}

const HASHES = 2 ** 32;

function isSampled(runId: string, sample: number): boolean {
  return sample === 1 || (hash32(runId) >>> 0) / HASHES < sample;
}

/** What a check has come to. */
class Check {
  readonly #options: CheckReplayOptions;
  readonly #open: number;
  readonly #findings: ReplayFinding[] = [];
  readonly #unknown = new Map<string, number>();
  #findingCount = 0;
  checked = 0;

  constructor(options: CheckReplayOptions, open: number) {
    this.#options = options;
    this.#open = open;
  }

  unknown(workflow: string): void {
    this.#unknown.set(workflow, (this.#unknown.get(workflow) ?? 0) + 1);
  }

  found(finding: ReplayFinding | null): void {
    const { onFinding, onProgress, findingsMax = FINDINGS_MAX } = this.#options;
    this.checked += 1;
    if (finding !== null) {
      this.#findingCount += 1;
      if (this.#findings.length < findingsMax) this.#findings.push(finding);
      onFinding?.(finding);
    }
    onProgress?.({ checked: this.checked, open: this.#open, findings: this.#findingCount });
  }

  report(): ReplayReport {
    return {
      ok: this.#findingCount === 0,
      checked: this.checked,
      open: this.#open,
      findingCount: this.#findingCount,
      findings: this.#findings,
      unknown: Object.fromEntries(this.#unknown),
    };
  }
}

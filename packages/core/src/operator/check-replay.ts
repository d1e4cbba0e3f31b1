import { checkCodecReadOnly } from "../engine/codec-check.ts";
import { ENGINE_KINDS, type EngineConfig, type EngineOptions, resolveConfig } from "../engine/config.ts";
import { hash32 } from "../model/hash.ts";
import { kinds, optionTable, readOptions } from "../model/option-check.ts";
import { type Codec, createCodec } from "../model/payload.ts";
import type { Run, Status } from "../model/run.ts";
import { ProgramRegistry } from "../runner/program-registry.ts";
import { consoleLog, guardedLog } from "../runtime/log.ts";
import { trackUnhandledRejections } from "../runtime/unhandled-rejections.ts";
import { callStore, openStore } from "../store/open-store.ts";
import type { Reader, Store } from "../store/store.ts";
import { checkRun, type ReplayFinding } from "./replay-finding.ts";

/** Runs that have not ended. */
const OPEN: readonly Status[] = ["pending", "running", "suspended", "paused", "compensating"];
/** Runs read from the store per query. Journals are read one at a time. */
const PAGE_RUNS = 50;
const FINDINGS_MAX = 1_000;

export interface CheckReplayOptions extends Pick<EngineOptions, "codec" | "log" | "world"> {
  /** The code to check, at least one workflow. Runs of other workflows are counted, not checked. */
  readonly workflows: NonNullable<EngineOptions["workflows"]>;
  /** Opened for the check, only read, and closed afterwards. */
  readonly store: Store;
  /** Set it if an engine of this process uses the store: the store is then neither opened nor closed. */
  readonly keepOpen?: boolean;
  /** The share of runs to check, above 0 and at most 1. The same runs are selected each time. Default 1. */
  readonly sample?: number;
  /** The maximum number of runs to check. Default: unlimited. */
  readonly limit?: number;
  /** The maximum number of findings in the report. Further findings are only counted. Default 1,000. */
  readonly findingsMax?: number;
  /** Called after each run. */
  readonly onProgress?: (progress: CheckProgress) => void;
  /** Called with each finding, even beyond `findingsMax`. */
  readonly onFinding?: (finding: ReplayFinding) => void;
}

const OPTIONS = optionTable<CheckReplayOptions>("checkReplay", {
  // Without workflows every store passes the check.
  workflows: kinds.required(kinds.list(kinds.value, { min: 1 })),
  store: ENGINE_KINDS.store,
  codec: ENGINE_KINDS.codec,
  log: ENGINE_KINDS.log,
  world: ENGINE_KINDS.world,
  keepOpen: kinds.flag,
  sample: { ...kinds.number(0, 1), allowed: "a number above 0 and at most 1", fits: isShare },
  limit: kinds.either(kinds.literal(Number.POSITIVE_INFINITY), kinds.integer(1)),
  findingsMax: kinds.integer(0),
  onProgress: kinds.callback,
  onFinding: kinds.callback,
});

function isShare(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= 1;
}

export interface CheckProgress {
  readonly checked: number;
  /** Open runs at the start of the check. */
  readonly open: number;
  readonly findings: number;
}

export interface ReplayReport {
  /** Whether every checked run can continue with this code. */
  readonly ok: boolean;
  readonly checked: number;
  /** Open runs at the start of the check. */
  readonly open: number;
  /** The number of all findings. `findings` contains at most `findingsMax` of them. */
  readonly findingCount: number;
  readonly findings: readonly ReplayFinding[];
  /** The number of open runs of each workflow that is not in `workflows`, by workflow name. */
  readonly unknown: Readonly<Record<string, number>>;
}

/**
 * Replays the open runs of a store against new code, without effects: no step runs, nothing is written, and `ctx.log` logs nothing.
 * Reports each run that could not continue, with the location, the record there and the operation that the code requests.
 *
 * ```ts
 * const report = await checkReplay({ store: sqliteStore("app.db"), workflows: [order] });
 * if (!report.ok) throw new Error(report.findings.map(({ message }) => message).join("\n"));
 * ```
 */
export async function checkReplay(given: CheckReplayOptions): Promise<ReplayReport> {
  const options = readOptions(OPTIONS, given);
  const { store, codec: hook, world, sample = 1, limit = Number.POSITIVE_INFINITY } = options;
  const engineOptions = { store, workflows: options.workflows, ...(hook && { codec: hook }), ...(world && { world }) };
  const config = resolveConfig({ ...engineOptions, log: () => undefined });
  const { clock } = config.world;
  if (options.keepOpen !== true) await openStore(store, { now: () => clock.now(), every: () => () => undefined });
  try {
    const report = await callStore(() => replayRuns(options, config, { sample, limit }));
    if (report.checked === 0) logUnchecked(options, report);
    return report;
  } finally {
    if (options.keepOpen !== true) await store.close();
  }
}

/** A check of no run succeeds, and may be of the wrong store. */
function logUnchecked({ workflows, log }: CheckReplayOptions, { open, unknown }: ReplayReport): void {
  const cure = "check the address of the store, the names of the workflows and the sample";
  const names = workflows.map(({ name }) => name);
  guardedLog(log ?? consoleLog())("warn", `checkReplay checked no run; ${cure}`, { workflows: names, open, unknown });
}

async function replayRuns(
  options: CheckReplayOptions,
  config: EngineConfig,
  { sample, limit }: { readonly sample: number; readonly limit: number },
): Promise<ReplayReport> {
  const { store } = options;
  const workflows = [...config.workflows.values()];
  const rejections = trackUnhandledRejections(() => undefined);
  try {
    await checkCodecReadOnly(store.reader, options.codec ?? null);
    const codec = plainCodec(options);
    const programs = new ProgramRegistry(workflows, { ...config, codec });
    const known = new Set(workflows.map(({ name }) => name));
    const findings = new Findings(options, await store.reader.count({ status: OPEN }));
    for await (const run of openRuns(store.reader)) {
      if (!known.has(run.workflow)) findings.addUnknown(run.workflow);
      else if (isSampled(run.id, sample)) {
        if (findings.checked >= limit) break;
        const services = {
          codec,
          eventLoop: config.world.eventLoop,
          random: config.world.random,
          watched: rejections.watched,
        };
        findings.add(await checkRun({ store, programs, services }, run));
      }
    }
    return findings.report();
  } finally {
    rejections.stop();
  }
}

/** A codec without size limits: a check also reads payloads that were written with a higher limit. */
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

const HASH_COUNT = 2 ** 32;

function isSampled(runId: string, sample: number): boolean {
  return sample === 1 || (hash32(runId) >>> 0) / HASH_COUNT < sample;
}

/** Collects the findings of a check and reports progress. */
class Findings {
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

  addUnknown(workflow: string): void {
    this.#unknown.set(workflow, (this.#unknown.get(workflow) ?? 0) + 1);
  }

  /** Counts a checked run. `finding` is null if the run can continue. */
  add(finding: ReplayFinding | null): void {
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

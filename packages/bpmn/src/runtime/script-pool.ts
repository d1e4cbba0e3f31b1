import { Worker } from "node:worker_threads";
import { PRELUDE } from "../script/prelude.ts";
import type { ScriptJob, ScriptResult } from "../script/script-job.ts";
import { SANDBOX_PROGRAM, type SandboxReady } from "./sandbox-worker.ts";

/** Between the time when a script is interrupted and the time when its worker is ended. */
const GRACE_MS = 500;
/** A worker that has not loaded its engine by then never will. */
const START_MS = 60_000;

const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const load = require("node:module").createRequire(workerData.base);
${SANDBOX_PROGRAM}({
  load,
  prelude: workerData.prelude,
  receive: (listener) => parentPort.on("message", listener),
  answer: (answer) => parentPort.postMessage(answer),
});
`;

interface QueuedJob {
  readonly job: ScriptJob;
  readonly done: (result: ScriptResult) => void;
}

interface PoolWorker {
  readonly thread: Worker;
  current: QueuedJob | null;
  timer: NodeJS.Timeout | undefined;
  isReady: boolean;
}

/**
 * Workers that run scripts, one script at a time each.
 *
 * 1. Every job is answered exactly once: by its worker, by the clock, or because the pool is closed.
 * 2. A worker that was late, broke or died runs nothing more.
 * 3. There are never more workers than `size`, nor more waiting jobs than `queueMax`.
 */
export class ScriptPool {
  readonly #size: number;
  readonly #queueMax: number;
  readonly #workers = new Set<PoolWorker>();
  readonly #queue: QueuedJob[] = [];
  #isClosed = false;

  constructor(options: { readonly size: number; readonly queueMax: number }) {
    this.#size = options.size;
    this.#queueMax = options.queueMax;
  }

  run(job: ScriptJob): Promise<ScriptResult> {
    if (this.#isClosed) return Promise.resolve(refused(job, "the sandbox is closed"));
    if (this.#queue.length >= this.#queueMax) return Promise.resolve(refused(job, "too many scripts wait"));
    return new Promise((done) => {
      this.#queue.push({ job, done });
      this.#assignJobs();
    });
  }

  /** Ends all workers; scripts that run or wait are answered with a refusal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { job, done } of this.#queue.splice(0)) done(refused(job, "the sandbox is closed"));
    await Promise.all([...this.#workers].map((worker) => this.#end(worker, "the sandbox is closed")));
  }

  #assignJobs(): void {
    while (this.#queue.length > 0) {
      const free =
        [...this.#workers].find((worker) => worker.current === null) ??
        (this.#workers.size < this.#size ? this.#open() : null);
      const next = free === null ? undefined : this.#queue.shift();
      if (free === null || next === undefined) return;
      this.#start(free, next);
    }
  }

  #open(): PoolWorker {
    const thread = new Worker(PROGRAM, {
      eval: true,
      env: {},
      execArgv: [],
      argv: [],
      stdout: true,
      stderr: true,
      workerData: { base: import.meta.url, prelude: PRELUDE },
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, codeRangeSizeMb: 16, stackSizeMb: 4 },
    });
    const worker: PoolWorker = { thread, current: null, timer: undefined, isReady: false };
    thread.unref();
    thread.on("message", (message: ScriptResult | SandboxReady) => {
      if (message.kind !== "ready") return this.#onResult(worker, message);
      worker.isReady = true;
      this.#limitTime(worker);
    });
    thread.on("error", (error) => void this.#end(worker, `its worker failed: ${error.name}`));
    thread.on("exit", () => void this.#end(worker, "its worker ended"));
    this.#workers.add(worker);
    return worker;
  }

  #start(worker: PoolWorker, next: QueuedJob): void {
    worker.current = next;
    worker.thread.ref();
    worker.thread.postMessage(next.job);
    this.#limitTime(worker);
  }

  /** Loading the engine is not the script's time, so the clock starts again when it is there. */
  #limitTime(worker: PoolWorker): void {
    clearTimeout(worker.timer);
    if (worker.current === null) return;
    const { timeoutMs } = worker.current.job.limits;
    const late = `it ran longer than ${timeoutMs} ms and could not be interrupted`;
    worker.timer = setTimeout(() => void this.#end(worker, late), worker.isReady ? timeoutMs + GRACE_MS : START_MS);
  }

  #onResult(worker: PoolWorker, result: ScriptResult): void {
    const { current } = worker;
    if (current === null || current.job.id !== result.id) return;
    clearTimeout(worker.timer);
    worker.current = null;
    worker.thread.unref();
    current.done(result);
    if (result.kind === "limit" && result.isBroken) void this.#end(worker, "");
    this.#assignJobs();
  }

  /** Takes the worker out of the pool, answers what it was at, and ends it. */
  async #end(worker: PoolWorker, reason: string): Promise<void> {
    if (!this.#workers.delete(worker)) return;
    const { current } = worker;
    worker.current = null;
    clearTimeout(worker.timer);
    current?.done(refused(current.job, reason));
    await worker.thread.terminate();
    this.#assignJobs();
  }
}

function refused(job: ScriptJob, reason: string): ScriptResult {
  return { kind: "limit", id: job.id, reason, isBroken: false };
}

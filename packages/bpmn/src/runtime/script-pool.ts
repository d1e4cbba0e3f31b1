import { Worker } from "node:worker_threads";
import { PRELUDE } from "../script/prelude.ts";
import type { ScriptJob, ScriptResult } from "../script/script-job.ts";
import { SANDBOX_PROGRAM, type SandboxReady } from "./sandbox-worker.ts";

/** Time between the interrupt of a script and the termination of its worker. */
const GRACE_MS = 500;
/** Time after which a worker that has not loaded QuickJS counts as failed. */
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
 * Runs scripts in worker threads, one script at a time per thread.
 *
 * 1. Every job gets exactly one result: from its worker, from its timeout, or from `close`.
 * 2. A worker that timed out, failed or exited runs no other script.
 * 3. There are at most `size` workers and at most `queueMax` waiting jobs.
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
    if (this.#queue.length >= this.#queueMax)
      return Promise.resolve(refused(job, "too many scripts are waiting; raise queueMax or size"));
    return new Promise((done) => {
      this.#queue.push({ job, done });
      this.#assignJobs();
    });
  }

  /** Terminates all workers. Running and waiting scripts get a result of kind `limit`. */
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
    thread.on("error", (error) => void this.#end(worker, `its worker thread failed: ${error.name}`));
    thread.on("exit", () => void this.#end(worker, "its worker thread exited"));
    this.#workers.add(worker);
    return worker;
  }

  #start(worker: PoolWorker, next: QueuedJob): void {
    worker.current = next;
    worker.thread.ref();
    worker.thread.postMessage(next.job);
    this.#limitTime(worker);
  }

  /** Starts the timeout. Restarted when QuickJS is loaded, because loading does not count as the script's time. */
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

  /** Removes the worker from the pool, returns a result for its job, and terminates it. */
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

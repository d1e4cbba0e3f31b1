import { Worker } from "node:worker_threads";
import { PRELUDE } from "../script/prelude.ts";
import type { ScriptAnswer, ScriptJob } from "../script/script-job.ts";
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

interface Waiting {
  readonly job: ScriptJob;
  readonly done: (answer: ScriptAnswer) => void;
}

interface Seat {
  readonly worker: Worker;
  current: Waiting | null;
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
  readonly #seats = new Set<Seat>();
  readonly #queue: Waiting[] = [];
  #isClosed = false;

  constructor(options: { readonly size: number; readonly queueMax: number }) {
    this.#size = options.size;
    this.#queueMax = options.queueMax;
  }

  run(job: ScriptJob): Promise<ScriptAnswer> {
    if (this.#isClosed) return Promise.resolve(refused(job, "the sandbox is closed"));
    if (this.#queue.length >= this.#queueMax) return Promise.resolve(refused(job, "too many scripts wait"));
    return new Promise((done) => {
      this.#queue.push({ job, done });
      this.#fill();
    });
  }

  /** Ends all workers; scripts that run or wait are answered with a refusal. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { job, done } of this.#queue.splice(0)) done(refused(job, "the sandbox is closed"));
    await Promise.all([...this.#seats].map((seat) => this.#end(seat, "the sandbox is closed")));
  }

  #fill(): void {
    while (this.#queue.length > 0) {
      const free =
        [...this.#seats].find((seat) => seat.current === null) ?? (this.#seats.size < this.#size ? this.#open() : null);
      const next = free === null ? undefined : this.#queue.shift();
      if (free === null || next === undefined) return;
      this.#start(free, next);
    }
  }

  #open(): Seat {
    const worker = new Worker(PROGRAM, {
      eval: true,
      env: {},
      execArgv: [],
      argv: [],
      stdout: true,
      stderr: true,
      workerData: { base: import.meta.url, prelude: PRELUDE },
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, codeRangeSizeMb: 16, stackSizeMb: 4 },
    });
    const seat: Seat = { worker, current: null, timer: undefined, isReady: false };
    worker.unref();
    worker.on("message", (message: ScriptAnswer | SandboxReady) => {
      if (message.kind !== "ready") return this.#answered(seat, message);
      seat.isReady = true;
      this.#limitTime(seat);
    });
    worker.on("error", (error) => void this.#end(seat, `its worker failed: ${error.name}`));
    worker.on("exit", () => void this.#end(seat, "its worker ended"));
    this.#seats.add(seat);
    return seat;
  }

  #start(seat: Seat, waiting: Waiting): void {
    seat.current = waiting;
    seat.worker.ref();
    seat.worker.postMessage(waiting.job);
    this.#limitTime(seat);
  }

  /** Loading the engine is not the script's time, so the clock starts again when it is there. */
  #limitTime(seat: Seat): void {
    clearTimeout(seat.timer);
    if (seat.current === null) return;
    const { timeoutMs } = seat.current.job.limits;
    const late = `it ran longer than ${timeoutMs} ms and could not be interrupted`;
    seat.timer = setTimeout(() => void this.#end(seat, late), seat.isReady ? timeoutMs + GRACE_MS : START_MS);
  }

  #answered(seat: Seat, answer: ScriptAnswer): void {
    const { current } = seat;
    if (current === null || current.job.id !== answer.id) return;
    clearTimeout(seat.timer);
    seat.current = null;
    seat.worker.unref();
    current.done(answer);
    if (answer.kind === "limit" && answer.isBroken) void this.#end(seat, "");
    this.#fill();
  }

  /** Takes the worker out of the pool, answers what it was at, and ends it. */
  async #end(seat: Seat, reason: string): Promise<void> {
    if (!this.#seats.delete(seat)) return;
    const { current } = seat;
    seat.current = null;
    clearTimeout(seat.timer);
    current?.done(refused(current.job, reason));
    await seat.worker.terminate();
    this.#fill();
  }
}

function refused(job: ScriptJob, reason: string): ScriptAnswer {
  return { kind: "limit", id: job.id, reason, isBroken: false };
}

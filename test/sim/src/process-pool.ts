import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Job, JobResult } from "./job.ts";

const CHILD = fileURLToPath(new URL("./pool-process.js", import.meta.url));

/** Child processes that execute a list of jobs. */
export class Pool {
  readonly #children: ChildProcess[];

  constructor(size: number) {
    this.#children = Array.from({ length: size }, () => fork(CHILD));
  }

  /** Calls `onResult` for each result. Starts no further job after `onResult` returned "enough". */
  async run(jobs: Iterable<Job>, onResult: (result: JobResult, job: Job) => "on" | "enough"): Promise<void> {
    const queue = jobs[Symbol.iterator]();
    let enough = false;
    const work = async (child: ChildProcess): Promise<void> => {
      for (;;) {
        const next = enough ? null : queue.next();
        if (next === null || next.done) return;
        const result = await ask(child, next.value);
        if (onResult(result, next.value) === "enough") enough = true;
      }
    };
    await Promise.all(this.#children.map(work));
  }

  close(): void {
    for (const child of this.#children) child.disconnect();
  }
}

function ask(child: ChildProcess, job: Job): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`a process of the simulator exited with code ${code}`));
    child.once("exit", ended);
    child.once("message", (answer: { readonly result?: JobResult; readonly error?: string }) => {
      child.off("exit", ended);
      if (answer.result === undefined) reject(new Error(answer.error ?? "no answer"));
      else resolve(answer.result);
    });
    child.send(job);
  });
}

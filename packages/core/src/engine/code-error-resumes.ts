import type { Failure } from "../model/failure.ts";
import { readingOf } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import type { ControlParts } from "../operator/controls.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";

/** Workers of an earlier deployment may pause a run again, so the runs are checked for as long as this worker lives. */
const CHECK_MS = 60_000;
const PAGE = 100;

/**
 * Resumes runs that were paused with `CODE_ERROR` by another revision of their code.
 *
 * 1. A worker without a revision resumes no run: it cannot know that its code is another one.
 * 2. A run is resumed only in the epoch in which it was read, so that a later pause by an operator lasts.
 */
export class CodeErrorResumes {
  readonly #parts: ControlParts;
  /** By `workflowKey`. */
  readonly #revisions = new Map<string, string>();
  readonly #names = new Set<string>();
  #cancel: (() => void) | null = null;
  #isChecking = false;
  #isClosed = false;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** This worker executes the workflow from now on. */
  add(workflow: AnyWorkflow): void {
    const { revision = this.#parts.config.revision } = workflow.options;
    if (revision === null) return;
    this.#revisions.set(workflowKey(workflow), revision);
    this.#names.add(workflow.name);
    this.#schedule(0);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #schedule(ms: number): void {
    const { clock } = this.#parts.worker;
    this.#cancel?.();
    if (!this.#isClosed) this.#cancel = clock.wakeAt(clock.now() + ms, () => void this.#check());
  }

  async #check(): Promise<void> {
    this.#schedule(CHECK_MS);
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      for (const name of this.#names) await this.#checkWorkflow(name);
    } catch (error) {
      if (!this.#isClosed)
        this.#parts.config.log("warn", "could not check runs that a code error has paused; will retry", {
          error: String(error),
        });
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkWorkflow(workflow: string): Promise<void> {
    const { reader } = this.#parts.worker;
    for (let cursor: string | null = null; ; ) {
      const query = { status: ["paused"], workflow, limit: PAGE, ...(cursor === null ? {} : { cursor }) } as const;
      const page = await reader.list(query);
      for (const run of page.items) {
        if (this.#isClosed) return;
        if (this.#isOfOtherRevision(run)) await this.#resume(run);
      }
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  #isOfOtherRevision(run: Run): boolean {
    const revision = this.#revisions.get(workflowKey({ name: run.workflow, version: run.version }));
    if (revision === undefined || run.outcome === null) return false;
    const { value } = readingOf<Failure>(this.#parts.codec, run.outcome, `the reason of the pause of run ${run.id}`);
    return value?.code === "CODE_ERROR" && value.details?.revision !== revision;
  }

  async #resume({ id, workflow, version, epoch }: Run): Promise<void> {
    const { submit, config, publisher, worker } = this.#parts;
    const opId = config.world.random.id(config.store.now());
    const outcome = await submit({ kind: "resume", runId: id, opId, epoch });
    if (outcome.kind !== "done") return;
    const revision = this.#revisions.get(workflowKey({ name: workflow, version }));
    config.log("info", "resumed run: another revision of its code is registered", { run: id, workflow, revision });
    publisher.plain("run.resumed", { id, workflow });
    worker.requestPoll();
  }
}

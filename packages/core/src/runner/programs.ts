import { type WorkflowRef, workflowKey } from "../model/workflow-ref.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { codeProgram } from "./code-program.ts";
import type { ProgramSettings } from "./ops/branch.ts";

/** What this worker can run: each version of a workflow is a program of its own. */
export class Programs {
  readonly refs: readonly WorkflowRef[];
  readonly #byKey: ReadonlyMap<string, ProgramFactory>;

  constructor(workflows: Iterable<AnyWorkflow>, settings: ProgramSettings) {
    const all = [...workflows];
    this.refs = all.map(({ name, version }) => ({ name, version }));
    this.#byKey = new Map(all.map((workflow) => [workflowKey(workflow), codeProgram(workflow, settings)]));
  }

  has(ref: WorkflowRef): boolean {
    return this.#byKey.has(workflowKey(ref));
  }

  of(run: { readonly workflow: string; readonly version: number }): ProgramFactory | null {
    return this.#byKey.get(workflowKey({ name: run.workflow, version: run.version })) ?? null;
  }
}

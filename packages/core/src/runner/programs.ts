import { LIMITS, NO_POLICY, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import { type WorkflowRef, workflowKey } from "../model/workflow-ref.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { codeProgram } from "./code-program.ts";
import type { ProgramSettings } from "./ops/branch.ts";

/** What this worker can run: each version of a workflow is a program of its own. */
export class Programs {
  readonly refs: readonly WorkflowRef[];
  readonly #policies: ReadonlyMap<string, RunPolicy>;
  readonly #byKey: ReadonlyMap<string, ProgramFactory>;

  /** `policy` is for runs of workflows that say nothing else. */
  constructor(workflows: Iterable<AnyWorkflow>, settings: ProgramSettings, policy: RunPolicy = NO_POLICY) {
    const all = [...workflows];
    this.#policies = new Map(all.map((each) => [workflowKey(each), policyOf(each, policy)]));
    this.refs = all.map(({ name, version }) => ({ name, version }));
    this.#byKey = new Map(all.map((workflow) => [workflowKey(workflow), codeProgram(workflow, settings)]));
  }

  has(ref: WorkflowRef): boolean {
    return this.#byKey.has(workflowKey(ref));
  }

  of(run: RunOf): ProgramFactory | null {
    return this.#byKey.get(keyOf(run)) ?? null;
  }

  /** Null: its runs have no limits. */
  policyOf(run: RunOf): RunPolicy | null {
    const policy = this.#policies.get(keyOf(run)) ?? NO_POLICY;
    return LIMITS.some((limit) => policy[limit] !== null) ? policy : null;
  }
}

interface RunOf {
  readonly workflow: string;
  readonly version: number;
}

function keyOf({ workflow: name, version }: RunOf): string {
  return workflowKey({ name, version });
}

function policyOf({ name, options }: AnyWorkflow, policy: RunPolicy): RunPolicy {
  return resolvePolicy(options, policy, `of workflow ${name}: `);
}

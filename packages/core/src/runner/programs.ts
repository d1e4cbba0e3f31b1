import { LIMITS, NO_POLICY, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import { type WorkflowRef, workflowKey } from "../model/workflow-ref.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { codeProgram } from "./code-program.ts";
import type { ProgramSettings } from "./ops/branch.ts";

/** What this worker can run: each version of a workflow is a program of its own. */
export class Programs {
  readonly #refs: WorkflowRef[] = [];
  readonly #policies = new Map<string, RunPolicy>();
  readonly #byKey = new Map<string, ProgramFactory>();
  readonly #settings: ProgramSettings;
  readonly #policy: RunPolicy;

  /** `policy` is for runs of workflows that say nothing else. */
  constructor(workflows: Iterable<AnyWorkflow>, settings: ProgramSettings, policy: RunPolicy = NO_POLICY) {
    this.#settings = settings;
    this.#policy = policy;
    for (const workflow of workflows) this.add(workflow);
  }

  /** Grows when a workflow is added. */
  get refs(): readonly WorkflowRef[] {
    return this.#refs;
  }

  add(workflow: AnyWorkflow): void {
    const { name, version } = workflow;
    const key = workflowKey(workflow);
    this.#policies.set(key, policyOf(workflow, this.#policy));
    this.#byKey.set(key, codeProgram(workflow, this.#settings));
    this.#refs.push({ name, version });
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

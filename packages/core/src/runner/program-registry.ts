import { LIMITS, NO_POLICY, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { codeProgram } from "./code-program.ts";
import type { ProgramSettings } from "./ops/branch.ts";

/** A version of a workflow, as its runs need it. */
interface Runnable {
  readonly program: ProgramFactory;
  /** Null: its runs have no limits. */
  readonly policy: RunPolicy | null;
}

/** What this worker can run: each version of a workflow is a program of its own. */
export class ProgramRegistry {
  readonly #refs: WorkflowRef[] = [];
  /** By name, then by version: a run is looked up several times, and a text of both would be made each time. */
  readonly #byName = new Map<string, Map<number, Runnable>>();
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
    const versions = this.#byName.get(name) ?? new Map<number, Runnable>();
    this.#byName.set(name, versions);
    versions.set(version, {
      program: codeProgram(workflow, this.#settings),
      policy: policyOf(workflow, this.#policy),
    });
    this.#refs.push({ name, version });
  }

  has({ name, version }: WorkflowRef): boolean {
    return this.#runnable(name, version) !== undefined;
  }

  of({ workflow, version }: RunOf): ProgramFactory | null {
    return this.#runnable(workflow, version)?.program ?? null;
  }

  /** Null: its runs have no limits. */
  policyOf({ workflow, version }: RunOf): RunPolicy | null {
    return this.#runnable(workflow, version)?.policy ?? null;
  }

  #runnable(name: string, version: number): Runnable | undefined {
    return this.#byName.get(name)?.get(version);
  }
}

interface RunOf {
  readonly workflow: string;
  readonly version: number;
}

function policyOf({ name, options }: AnyWorkflow, policy: RunPolicy): RunPolicy | null {
  const own = resolvePolicy(options, policy, `of workflow ${name}: `);
  return LIMITS.some((limit) => own[limit] !== null) ? own : null;
}

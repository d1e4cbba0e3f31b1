import { LIMITS, NO_POLICY, type RunPolicy, resolvePolicy } from "../model/policy.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { codeProgram } from "./code-ctx.ts";
import type { ProgramSettings } from "./ops/branch.ts";

/** One version of a workflow. */
interface RegisteredProgram {
  readonly program: ProgramFactory;
  /** Null if its runs have no limits. */
  readonly policy: RunPolicy | null;
}

/** The programs of this worker, by workflow name and version. */
export class ProgramRegistry {
  readonly #refs: WorkflowRef[] = [];
  /** By name, then by version. A joined key would be allocated on each lookup. */
  readonly #byName = new Map<string, Map<number, RegisteredProgram>>();
  readonly #settings: ProgramSettings;
  readonly #policy: RunPolicy;

  /** `policy` applies to workflows that set no limits. */
  constructor(workflows: Iterable<AnyWorkflow>, settings: ProgramSettings, policy: RunPolicy = NO_POLICY) {
    this.#settings = settings;
    this.#policy = policy;
    for (const workflow of workflows) this.add(workflow);
  }

  /** Every registered workflow, including those added later. */
  get refs(): readonly WorkflowRef[] {
    return this.#refs;
  }

  add(workflow: AnyWorkflow): void {
    const { name, version } = workflow;
    const versions = this.#byName.get(name) ?? new Map<number, RegisteredProgram>();
    this.#byName.set(name, versions);
    versions.set(version, {
      program: codeProgram(workflow, this.#settings),
      policy: policyOf(workflow, this.#policy),
    });
    this.#refs.push({ name, version });
  }

  has({ name, version }: WorkflowRef): boolean {
    return this.#find(name, version) !== undefined;
  }

  of({ workflow, version }: RunOf): ProgramFactory | null {
    return this.#find(workflow, version)?.program ?? null;
  }

  /** Returns the limits of a run's workflow. Null if it has none. */
  policyOf({ workflow, version }: RunOf): RunPolicy | null {
    return this.#find(workflow, version)?.policy ?? null;
  }

  #find(name: string, version: number): RegisteredProgram | undefined {
    return this.#byName.get(name)?.get(version);
  }
}

interface RunOf {
  readonly workflow: string;
  readonly version: number;
}

function policyOf({ options }: AnyWorkflow, policy: RunPolicy): RunPolicy | null {
  const own = resolvePolicy(options, policy);
  return LIMITS.some((limit) => own[limit] !== null) ? own : null;
}

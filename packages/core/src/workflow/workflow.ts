import { PawlError } from "../model/errors.ts";
import { checkName } from "../model/names.ts";
import type { Ctx, Workflow, WorkflowDeclaration, WorkflowOptions } from "./ctx.ts";
import type { ProgramFactory } from "./program.ts";

/**
 * Defines a workflow.
 *
 * ```ts
 * const greet = workflow("greet", async (ctx, name: string) => {
 *   return await ctx.step("say", () => `hello ${name}`);
 * });
 * ```
 */
export function workflow<Input, Output>(
  name: string,
  run: (ctx: Ctx, input: Input) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output> & { readonly input?: undefined; readonly output?: undefined },
  run: (ctx: Ctx, input: Input) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output> & { readonly output?: undefined },
  run: (ctx: Ctx, input: NoInfer<Input>) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output>,
  run: (ctx: Ctx, input: NoInfer<Input>) => Promise<NoInfer<Output>>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  second: WorkflowOptions<Input, Output> | Workflow<Input, Output>["run"],
  third?: Workflow<Input, Output>["run"],
): Workflow<Input, Output> {
  const options = typeof second === "function" ? {} : second;
  const run = typeof second === "function" ? second : third;
  if (typeof run !== "function")
    throw new PawlError("OPTION_INVALID", `workflow ${String(name)} has no function; pass one as the last argument`);
  return { name: checkName(name, "workflow name"), version: versionOf(name, options), options, run, program: null };
}

/** Rejects values that are not a workflow, such as a name or a function from untyped code. */
export function checkWorkflow<Declaration>(workflow: Declaration): Declaration {
  if (typeof workflow === "object" && workflow !== null && "options" in workflow && "version" in workflow) {
    return workflow;
  }
  const kind = workflow === null ? "null" : typeof workflow;
  throw new PawlError(
    "OPTION_INVALID",
    `expected a workflow created with workflow() or declareWorkflow(); got ${kind}`,
  );
}

/**
 * Defines a workflow whose runs are interpreted by your own program: completions in, commands out. If its state is data, it can be
 * stored as a snapshot, and replay starts there.
 */
export function programWorkflow<Input, Output>(
  name: string,
  program: ProgramFactory,
  options: WorkflowOptions<Input, Output> = {},
): Workflow<Input, Output> {
  const run = (): never => {
    throw new TypeError(`workflow ${name} is interpreted by a program and has no function`);
  };
  return { name: checkName(name, "workflow name"), version: versionOf(name, options), options, run, program };
}

/**
 * Names a workflow whose code is elsewhere, so that a client can start it.
 *
 * ```ts
 * const order = declareWorkflow<{ id: string }, number>("order");
 * ```
 */
export function declareWorkflow<Input, Output = unknown>(
  name: string,
  options: Pick<WorkflowOptions<Input, Output>, "input" | "version"> = {},
): WorkflowDeclaration<Input, Output> {
  return { name: checkName(name, "workflow name"), version: versionOf(name, options), options };
}

function versionOf(name: string, { version = 1 }: { readonly version?: number }): number {
  if (Number.isSafeInteger(version) && version > 0) return version;
  throw new PawlError("OPTION_INVALID", `version of workflow ${name} must be a positive integer; got ${version}`);
}

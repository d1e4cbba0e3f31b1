import { checkName } from "../model/names.ts";
import { kinds, openTable, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import { CODE_KINDS, POLICY_KINDS } from "../model/policy.ts";
import { RETRY } from "../model/retry.ts";
import type { AnyWorkflow, Ctx, Workflow, WorkflowDeclaration, WorkflowOptions } from "./ctx.ts";
import type { ProgramFactory } from "./program.ts";

const WORKFLOW_OPTIONS = optionTable<WorkflowOptions<never, never>>("the workflow", {
  ...POLICY_KINDS,
  ...CODE_KINDS,
  input: kinds.schema,
  output: kinds.schema,
  retry: RETRY,
  version: kinds.integer(1),
});
const DECLARATION_OPTIONS = optionTable<Pick<WorkflowOptions<never, never>, "input" | "version">>("the declaration", {
  input: kinds.schema,
  version: kinds.integer(1),
});

/** A workflow from another copy of this package, or from plain JavaScript. */
const FOREIGN_WORKFLOW = kinds.options(
  openTable<AnyWorkflow>("the workflow", {
    name: kinds.required(kinds.name),
    version: kinds.required(kinds.integer(1)),
    options: kinds.required(kinds.options(WORKFLOW_OPTIONS)) as never,
    run: kinds.required(kinds.callback),
    program: kinds.required(kinds.nullable(kinds.callback)),
  }),
);
const FOREIGN_DECLARATION = kinds.options(
  openTable<Omit<WorkflowDeclaration, "run">>("the workflow", {
    name: kinds.required(kinds.name),
    version: kinds.required(kinds.integer(1)),
    options: kinds.required(kinds.options(openTable("the workflow", { input: kinds.schema }))),
  }),
);

/** The workflows and declarations that were checked when they were created. They are frozen. */
const CHECKED = new WeakSet<object>();

function checked<Definition extends object>(definition: Definition): Definition {
  CHECKED.add(Object.freeze(definition));
  return definition;
}

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
  run: (ctx: Ctx<NoInfer<Input>>, input: Input) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output> & { readonly input?: undefined; readonly output?: undefined },
  run: (ctx: Ctx<NoInfer<Input>>, input: Input) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output> & { readonly output?: undefined },
  run: (ctx: Ctx<NoInfer<Input>>, input: NoInfer<Input>) => Promise<Output>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  options: WorkflowOptions<Input, Output>,
  run: (ctx: Ctx<NoInfer<Input>>, input: NoInfer<Input>) => Promise<NoInfer<Output>>,
): Workflow<Input, Output>;
export function workflow<Input, Output>(
  name: string,
  second: WorkflowOptions<Input, Output> | Workflow<Input, Output>["run"],
  third?: Workflow<Input, Output>["run"],
): Workflow<Input, Output> {
  const options = readOptions(WORKFLOW_OPTIONS, typeof second === "function" ? undefined : second);
  const run = typeof second === "function" ? second : third;
  return checked({
    name: checkName(name, "workflow name"),
    version: options.version ?? 1,
    options: Object.freeze(options),
    run: readArgument<Workflow<Input, Output>["run"]>(kinds.callback, run, `function of workflow ${name}`),
    program: null,
  });
}

/** Rejects values that are not a workflow, such as a name or a function from plain JavaScript. */
export function checkWorkflow(workflow: AnyWorkflow): AnyWorkflow {
  if (CHECKED.has(workflow) && "program" in workflow) return workflow;
  const { run, ...rest } = readArgument(FOREIGN_WORKFLOW, workflow, "workflow");
  return checked({ ...rest, run: run.bind(workflow) });
}

/** Rejects values that name no workflow. */
export function checkDeclaration<Declaration extends WorkflowDeclaration>(workflow: Declaration): Declaration {
  if (CHECKED.has(workflow)) return workflow;
  return readArgument(FOREIGN_DECLARATION, workflow, "workflow") as Declaration;
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
  const given = readOptions<WorkflowOptions<Input, Output>>(WORKFLOW_OPTIONS, options);
  const run = (): never => {
    throw new TypeError(`workflow ${name} is interpreted by a program and has no function`);
  };
  return checked({
    name: checkName(name, "workflow name"),
    version: given.version ?? 1,
    options: Object.freeze(given),
    run,
    program: readArgument<ProgramFactory>(kinds.callback, program, `program of workflow ${name}`),
  });
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
  const { version = 1, ...rest } = readOptions<typeof options>(DECLARATION_OPTIONS, options);
  return checked({ name: checkName(name, "workflow name"), version, options: Object.freeze({ ...rest, version }) });
}

import { scopeAt } from "../model/location.ts";
import { DEFAULT_RETRY, type ResolvedRetry, resolveRetry } from "../model/retry.ts";
import { checkSchema } from "../model/schema.ts";
import type { AnyWorkflow, Ctx } from "../workflow/ctx.ts";
import type { Program, ProgramFactory, ProgramHost } from "../workflow/program.ts";
import { CodeCtx } from "./code-ctx.ts";
import type { Branch, ProgramSettings } from "./ops/branch.ts";

/** Returns the workflow's own program, or one that executes its function. */
export function codeProgram(workflow: AnyWorkflow, settings: ProgramSettings): ProgramFactory {
  if (workflow.program !== null) return workflow.program;
  const retry = resolveRetry(workflow.options.retry, DEFAULT_RETRY);
  return (host) => new CodeProgram(host, workflow, settings, retry);
}

class CodeProgram implements Program {
  readonly #host: ProgramHost;
  readonly #workflow: AnyWorkflow;
  readonly #settings: ProgramSettings;
  readonly #retry: ResolvedRetry;

  constructor(host: ProgramHost, workflow: AnyWorkflow, settings: ProgramSettings, retry: ResolvedRetry) {
    this.#host = host;
    this.#workflow = workflow;
    this.#settings = settings;
    this.#retry = retry;
  }

  start(input: unknown): void {
    const ctx = createCtx({
      host: this.#host,
      scope: scopeAt(""),
      workflow: this.#workflow,
      settings: this.#settings,
      retry: this.#retry,
      cancellation: null,
      createCtx,
    });
    runCode(this.#host, this.#workflow, ctx, input);
  }
}

const createCtx = (branch: Branch): Ctx => new CodeCtx(branch);

function runCode(host: ProgramHost, workflow: AnyWorkflow, ctx: Ctx, input: unknown): void {
  const failed = (error: unknown): void => host.finish({ kind: "failed", error });
  const completed = (value: unknown): void => {
    try {
      const { output: schema } = workflow.options;
      const output = schema === undefined ? value : checkSchema(schema, value, `output of run ${host.runId}`);
      host.finish({ kind: "completed", output });
    } catch (error) {
      failed(error);
    }
  };
  try {
    Promise.resolve(workflow.run(ctx, input)).then(completed, failed);
  } catch (error) {
    failed(error);
  }
}

import { scopeAt } from "../model/location.ts";
import { DEFAULT_RETRY, resolveRetry } from "../model/retry.ts";
import { checkSchema } from "../model/schema.ts";
import type { AnyWorkflow, Ctx } from "../workflow/ctx.ts";
import type { Program, ProgramFactory, ProgramHost } from "../workflow/program.ts";
import { CodeCtx } from "./code-ctx.ts";
import type { Branch, ProgramSettings } from "./ops/branch.ts";

/** The workflow's own program, or one whose state is a live coroutine: its function. */
export function codeProgram(workflow: AnyWorkflow, settings: ProgramSettings): ProgramFactory {
  if (workflow.program !== null) return workflow.program;
  const retry = resolveRetry(workflow.options.retry, DEFAULT_RETRY);
  return (host): Program => ({
    start(input) {
      const ctx = createCtx({
        host,
        scope: scopeAt(""),
        workflow,
        settings,
        retry,
        line: null,
        createCtx,
        keptFrom: (loop) => host.keptFrom(loop),
      });
      void runCode(host, workflow, ctx, input);
    },
  });
}

const createCtx = (branch: Branch): Ctx => new CodeCtx(branch);

async function runCode(host: ProgramHost, workflow: AnyWorkflow, ctx: Ctx, input: unknown): Promise<void> {
  try {
    const output: unknown = await workflow.run(ctx, input);
    const { output: schema } = workflow.options;
    host.finish({
      kind: "completed",
      output: schema === undefined ? output : checkSchema(schema, output, `output of run ${host.runId}`),
    });
  } catch (error) {
    host.finish({ kind: "failed", error });
  }
}

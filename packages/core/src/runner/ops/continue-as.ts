import { checkSchema } from "../../model/schema.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import type { Branch } from "./branch.ts";

/** The code that asked is never answered: its generation is over. */
export function continueAs(branch: Branch, workflow: AnyWorkflow, input: unknown): Promise<never> {
  return new Promise(() => {
    if (branch.line?.isOver) return;
    const { input: schema } = workflow.options;
    const checked = schema === undefined ? input : checkSchema(schema, input, `input of ${workflow.name}`);
    branch.host.finish({ kind: "continued", workflow: workflow.name, version: workflow.version, input: checked });
  });
}

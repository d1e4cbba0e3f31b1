import { PawlError } from "../../model/errors.ts";
import type { Workflow } from "../../workflow/ctx.ts";
import { Exploration, type ExploreReport } from "./exploration.ts";
import { type ExploreOptions, subjectOf } from "./explore-options.ts";
import { guardGlobals } from "./guarded-globals.ts";

/** What `explore` rejects with: the workflow does not keep to what it should, and the message tells the story. */
export class ExploreError extends Error {
  override readonly name = "ExploreError";
  readonly code = "WORKFLOW_FAULTY";
  readonly report: ExploreReport;
  constructor(report: ExploreReport) {
    super(report.text);
    this.report = report;
  }
}

/**
 * Runs a workflow again and again, each time with something else going wrong: crashes at every call of the store and at every
 * boundary of a step, stores that fail, steps that fail or hang, messages that come twice, other orders. Its result and its
 * effects must always be the same. Rejects with the story of the smallest schedule in which they are not.
 *
 * ```ts
 * await explore(order, { cents: 499 }, { effects });
 * ```
 */
export async function explore<Input, Output>(
  workflow: Workflow<Input, Output>,
  input: Input,
  options: ExploreOptions<Output> = {},
): Promise<ExploreReport> {
  const { schedules = 1_000, seed = 1 } = options;
  if (!Number.isSafeInteger(schedules) || schedules < 1)
    throw new PawlError("OPTION_INVALID", `schedules is ${schedules}; it has to be a whole number above 0`);
  const subject = subjectOf(workflow, input, options);
  const report = await guarded(() => new Exploration(subject, options).run(schedules, seed, options.schedule ?? null));
  if (report.findings.length > 0) throw new ExploreError(report);
  return report;
}

async function guarded<Value>(call: () => Promise<Value>): Promise<Value> {
  const unguard = guardGlobals();
  try {
    return await call();
  } finally {
    unguard();
  }
}

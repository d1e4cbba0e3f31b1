import { type OptionTable, readOptions } from "../../model/option-check.ts";
import type { Workflow } from "../../workflow/ctx.ts";
import { Exploration, type ExploreReport } from "./exploration.ts";
import { EXPLORE_OPTIONS, type ExploreOptions, subjectOf } from "./explore-options.ts";
import { guardGlobals } from "./guarded-globals.ts";

/** The rejection of `explore` if it has findings. Its message is the report. */
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
 * Executes a workflow under many schedules of faults: crashes at every store call and at every step boundary, failing store calls,
 * failing and hanging steps, duplicate messages, and other orders of completion. Its result and its effects must be the same in each
 * schedule. Otherwise the call rejects with the story of the smallest schedule in which they differ.
 *
 * ```ts
 * await explore(order, { cents: 499 }, { effects });
 * ```
 */
export async function explore<Input, Output>(
  workflow: Workflow<Input, Output>,
  input: Input,
  given?: ExploreOptions<Output>,
): Promise<ExploreReport> {
  const options = readOptions<ExploreOptions<Output>>(EXPLORE_OPTIONS as OptionTable<never>, given);
  const { schedules = 1_000, seed = 1 } = options;
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

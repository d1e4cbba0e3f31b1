import { ENGINE_KINDS, type EngineOptions } from "../../engine/config.ts";
import type { Duration } from "../../model/duration.ts";
import { kinds, type OptionKind, optionTable } from "../../model/option-check.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import type { AnyWorkflow, Workflow } from "../../workflow/ctx.ts";
import { checkWorkflow } from "../../workflow/workflow.ts";
import type { StepStub, StepStubs } from "../step-stubs.ts";
import { SEED } from "../virtual-world.ts";
import { programSettings } from "../wrapped-program.ts";
import type { ClientScript } from "./client-actions.ts";
import type { Effects } from "./effects.ts";
import { SETTINGS } from "./process.ts";
import type { Subject } from "./run-schedule.ts";
import { FAULT, SCENARIO, type Schedule } from "./schedule.ts";

export interface ExploreOptions<Output = unknown> extends Pick<EngineOptions, "codec" | "propagateChildFailures"> {
  /** The external systems that steps change. Default: none; only results are compared. */
  readonly effects?: Effects;
  /** Seed of the random schedules, which follow all schedules with a single fault. Default 1. */
  readonly seed?: number;
  /** Number of schedules to execute. Default 1,000. */
  readonly schedules?: number;
  /** Executes only this schedule, such as one of an earlier finding. */
  readonly schedule?: Schedule;
  /** Messages and events to send to the run. Default: none. */
  readonly sends?: ClientScript;
  /** Other workflows, such as the children that the workflow starts. Default: none. */
  readonly workflows?: readonly AnyWorkflow[];
  /** Replacements of step bodies, by step name or location. */
  readonly steps?: StepStubs;
  /** Locations of steps whose failure may leave the result unchanged. */
  readonly mayFail?: readonly string[];
  /** If true, a failed or cancelled run must leave no effect. Default: true if one of its steps has a rollback. */
  readonly allOrNothing?: boolean;
  /** Returns the part of the output that must be the same in every schedule. Default: all of it. */
  readonly compare?: (output: Output) => unknown;
}

const SCHEDULES_MAX = 100_000_000;

const ACTIONS = kinds.list(
  kinds.options(
    optionTable<{
      readonly message?: unknown;
      readonly event?: unknown;
      readonly value?: unknown;
      readonly after?: Duration;
    }>("the action", { message: kinds.value, event: kinds.value, value: kinds.value, after: kinds.duration }),
  ),
);

export const EXPLORE_OPTIONS = optionTable<ExploreOptions>("explore", {
  codec: ENGINE_KINDS.codec,
  propagateChildFailures: ENGINE_KINDS.propagateChildFailures,
  effects: kinds.withMethods("effects, such as effectLog()", "reset", "read"),
  seed: SEED,
  schedules: kinds.integer(1, SCHEDULES_MAX),
  schedule: kinds.options(
    optionTable<Schedule>("the schedule", {
      scenario: kinds.required(SCENARIO),
      faults: kinds.required(kinds.list(FAULT)),
    }),
  ),
  sends: ACTIONS as OptionKind<never>,
  workflows: ENGINE_KINDS.workflows,
  steps: kinds.map<StepStub>(kinds.callback),
  mayFail: kinds.list(kinds.text),
  allOrNothing: kinds.flag,
  compare: kinds.callback,
});

/** `options` are checked. */
export function subjectOf<Input, Output>(
  workflow: Workflow<Input, Output>,
  input: Input,
  options: ExploreOptions<Output>,
): Subject {
  const any = checkWorkflow(workflow as unknown as AnyWorkflow);
  const { codec, propagateChildFailures } = options;
  const settings = programSettings({
    ...SETTINGS,
    store: memoryStore(),
    ...(codec === undefined ? {} : { codec }),
    ...(propagateChildFailures === undefined ? {} : { propagateChildFailures }),
  });
  return {
    workflow: any,
    input,
    workflows: [any, ...(options.workflows ?? []).map(checkWorkflow).filter((other) => other !== any)],
    settings,
    steps: options.steps ?? {},
    effects: options.effects ?? null,
    script: options.sends ?? [],
  };
}

import type { EngineOptions } from "../../engine/config.ts";
import { memoryStore } from "../../store/memory/memory-store.ts";
import type { AnyWorkflow, Workflow } from "../../workflow/ctx.ts";
import type { StepStubs } from "../step-stubs.ts";
import { programSettings } from "../wrapped-program.ts";
import type { ClientScript } from "./client-actions.ts";
import type { Effects } from "./effects.ts";
import { SETTINGS } from "./process.ts";
import type { Subject } from "./run-schedule.ts";
import type { Schedule } from "./schedule.ts";

export interface ExploreOptions<Output = unknown> extends Pick<EngineOptions, "codec" | "propagateChildFailures"> {
  /** The world that steps act on. Without it, only the result is compared. */
  readonly effects?: Effects;
  /** Another seed draws other schedules, after all those with a single fault. Default 1. */
  readonly seed?: number;
  /** How many are played. Default 1,000. */
  readonly schedules?: number;
  /** Plays this one alone: one that was found before. */
  readonly schedule?: Schedule;
  /** Messages and events that come for the run. */
  readonly sends?: ClientScript;
  /** Other workflows that it starts. */
  readonly workflows?: readonly AnyWorkflow[];
  /** In place of step bodies, by name or location. */
  readonly steps?: StepStubs;
  /** Locations of steps whose failure may come to nothing. */
  readonly mayFail?: readonly string[];
  /** Whether a run that fails is to leave no effect. Default: if one of its steps has a rollback. */
  readonly allOrNothing?: boolean;
  /** What of the output has to be always the same. Default: all of it. */
  readonly compare?: (output: Output) => unknown;
}

export function subjectOf<Input, Output>(
  workflow: Workflow<Input, Output>,
  input: Input,
  options: ExploreOptions<Output>,
): Subject {
  const any = workflow as unknown as AnyWorkflow;
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
    workflows: [any, ...(options.workflows ?? []).filter((other) => other !== any)],
    settings,
    steps: options.steps ?? {},
    effects: options.effects ?? null,
    script: options.sends ?? [],
  };
}

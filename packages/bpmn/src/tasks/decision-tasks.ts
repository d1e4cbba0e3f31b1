import { CriticalError, kinds, optionTable, readArgument, readOptions } from "pawl";
import { decideWith, MODEL } from "../dmn/decide.ts";
import type { DecisionModel } from "../dmn/decision-model.ts";
import { NO_RULE } from "../dmn/decision-table.ts";
import { FEEL_KINDS, type FeelOptions } from "../feel/feel.ts";
import type { Job, TaskHandler } from "../program/handlers.ts";

export interface DecisionTaskOptions extends FeelOptions {
  /** Receives the warnings of a decision that has a value, such as an operator that is not defined for its operands. */
  readonly onWarnings?: (warnings: readonly string[], job: Job) => void;
}

const OPTIONS = optionTable<DecisionTaskOptions>("decisionTasks", { ...FEEL_KINDS, onWarnings: kinds.callback });

/**
 * A handler of business rule tasks that evaluates decisions: `tasks: { businessRuleTask: decisionTasks([model]) }`. The task
 * names its decision (`zeebe:calledDecision`, `camunda:decisionRef`, `pawl:decisionRef`); its variables are the inputs. A decision
 * that needs a variable which the task does not have, or that has no value because of an error, is an incident.
 */
export function decisionTasks(given: readonly DecisionModel[], taskOptions?: DecisionTaskOptions): TaskHandler {
  const models = readArgument<readonly DecisionModel[]>(kinds.list(MODEL), given, "models");
  const options = readOptions(OPTIONS, taskOptions);
  return (job) => {
    const { element } = job;
    const name = "decision" in element ? element.decision : null;
    if (name === null)
      throw new CriticalError(`business rule task ${element.id} names no decision; set its decisionRef`);
    const model = models.find(({ elements }) =>
      [...elements.values()].some((each) => each.kind !== "input" && (each.name === name || each.id === name)),
    );
    if (model === undefined)
      throw new CriticalError(
        `business rule task ${element.id} needs decision ${name}, which no model has; check its decisionRef`,
      );
    return decisionValue(model, name, job, options);
  };
}

/** The value of a decision for the variables of a task. A decision without a value because of an error is an incident. */
export function decisionValue(model: DecisionModel, name: string, job: Job, options: DecisionTaskOptions): unknown {
  const { value, warnings, unresolved } = decideWith(model, name, job.variables, options);
  if (unresolved.length > 0) {
    const missing = unresolved.join(", ");
    throw new CriticalError(
      `decision ${name} needs ${missing}, which task ${job.element.id} does not have; set or map it`,
    );
  }
  if (value === null && warnings.some((warning) => warning !== NO_RULE))
    throw new CriticalError(`decision ${name} of task ${job.element.id} has no value: ${warnings.join("; ")}`);
  if (warnings.length > 0) options.onWarnings?.(warnings, job);
  return value;
}

import { CriticalError, kinds, readArgument, readOptions } from "pawl";
import { decide, MODEL } from "../dmn/decide.ts";
import type { DecisionModel } from "../dmn/decision-model.ts";
import { FEEL_OPTIONS, type FeelOptions } from "../feel/feel.ts";
import type { TaskHandler } from "../program/handlers.ts";

/**
 * A handler of business rule tasks that evaluates decisions: `tasks: { businessRuleTask: decisionTasks([model]) }`. The task
 * names its decision (`zeebe:calledDecision`, `camunda:decisionRef`, `pawl:decisionRef`); its variables are the inputs.
 */
export function decisionTasks(given: readonly DecisionModel[], feelOptions?: FeelOptions): TaskHandler {
  const models = readArgument<readonly DecisionModel[]>(kinds.list(MODEL), given, "models");
  const options = readOptions(FEEL_OPTIONS, feelOptions);
  return ({ element, variables }) => {
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
    return decide(model, name, variables, options).value;
  };
}

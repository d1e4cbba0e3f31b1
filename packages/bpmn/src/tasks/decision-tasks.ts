import { CriticalError } from "pawl";
import { decide } from "../dmn/decide.ts";
import type { DecisionModel } from "../dmn/decision-model.ts";
import type { FeelOptions } from "../feel/feel.ts";
import type { TaskHandler } from "../program/handlers.ts";

/**
 * A handler of business rule tasks that evaluates decisions: `tasks: { businessRuleTask: decisionTasks([model]) }`. The task
 * names its decision (`zeebe:calledDecision`, `camunda:decisionRef`, `pawl:decisionRef`); its variables are the inputs.
 */
export function decisionTasks(models: readonly DecisionModel[], options: FeelOptions = {}): TaskHandler {
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

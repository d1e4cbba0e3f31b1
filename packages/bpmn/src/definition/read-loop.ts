import type { InstanceThrow, MultiInstance, StandardLoop } from "../model/process.ts";
import { computed, expressionIn } from "./expression-text.ts";
import { loopExtensions } from "./extensions.ts";
import { flagIn, type Model, modelIn, modelsIn, textIn } from "./moddle.ts";
import { associated, nameOf } from "./read-data.ts";
import { triggerOf, triggersOf } from "./read-triggers.ts";
import type { Reading } from "./reading.ts";

/** The marker of an activity that is done several times. */
export function loopOf(reading: Reading, activity: Model): MultiInstance | StandardLoop | null {
  const loop = modelIn(activity, "loopCharacteristics");
  if (loop === null) return null;
  if (loop.$type === "bpmn:StandardLoopCharacteristics") {
    const maximum = Number(textIn(loop, "loopMaximum") ?? Number.NaN);
    return {
      kind: "standard",
      testBefore: flagIn(loop, "testBefore"),
      condition: expressionIn(loop, "loopCondition"),
      maximum: Number.isInteger(maximum) ? maximum : null,
    };
  }
  return multiOf(reading, activity, loop);
}

function multiOf(reading: Reading, activity: Model, loop: Model): MultiInstance {
  const extended = loopExtensions(loop);
  const input = modelIn(loop, "loopDataInputRef");
  const output = modelIn(loop, "loopDataOutputRef");
  const item = modelIn(loop, "inputDataItem");
  const result = modelIn(loop, "outputDataItem");
  const cardinality = expressionIn(loop, "loopCardinality");
  const collection = extended?.collection ?? (input === null ? null : associated(activity, input));
  if (cardinality === null && collection === null) {
    reading.problems.add(
      activity.id ?? null,
      reading.lineOf(activity.id ?? null),
      "nothing says how often the multi-instance activity is done; give it a loopCardinality or a collection",
    );
  }
  return {
    kind: "multi",
    sequential: flagIn(loop, "isSequential"),
    cardinality,
    collection,
    item: extended?.item ?? (item === null ? null : nameOf(item)),
    output:
      extended?.output ??
      (output === null || result === null
        ? null
        : { variable: associated(activity, output).text, element: computed(nameOf(result)) }),
    completion: expressionIn(loop, "completionCondition"),
    throws: throwsOf(reading, activity, loop),
  };
}

/** What the standard calls the behavior of a multi-instance activity. */
function throwsOf(reading: Reading, activity: Model, loop: Model): readonly InstanceThrow[] {
  const thrown = (definition: Model | null, when: InstanceThrow["when"]): readonly InstanceThrow[] => {
    const trigger = definition === null ? null : triggerOf(reading, activity, definition);
    return trigger === null ? [] : [{ when, trigger }];
  };
  switch (textIn(loop, "behavior")) {
    case "None":
      return thrown(modelIn(loop, "noneBehaviorEventRef"), "each");
    case "One":
      return thrown(modelIn(loop, "oneBehaviorEventRef"), "first");
    case "Complex":
      return modelsIn(loop, "complexBehaviorDefinition").flatMap((definition): readonly InstanceThrow[] => {
        const when = expressionIn(definition, "condition") ?? computed("true");
        const event = modelIn(definition, "event");
        const triggers = event === null ? [] : triggersOf(reading, event);
        return triggers.length === 0 ? [{ when, trigger: null }] : triggers.map((trigger) => ({ when, trigger }));
      });
    default:
      return [];
  }
}

import type { EventTrigger, Expression } from "../model/process.ts";
import { expressionIn, textOrComputed, valueIn } from "./expression-text.ts";
import { extensionsOf } from "./extensions.ts";
import { idIn, type Model, modelIn, modelsIn, tagOf, textIn } from "./moddle.ts";
import { messageName, type Reading } from "./reading.ts";

/** The definitions of an event, its own and those that it refers to. */
export function triggersOf(reading: Reading, event: Model): readonly EventTrigger[] {
  const definitions = [...modelsIn(event, "eventDefinitions"), ...modelsIn(event, "eventDefinitionRef")];
  return definitions.flatMap((definition) => {
    const trigger = triggerOf(reading, event, definition);
    return trigger === null ? [] : [trigger];
  });
}

export function triggerOf(reading: Reading, event: Model, definition: Model): EventTrigger | null {
  switch (tagOf(definition)) {
    case "messageEventDefinition":
      return {
        kind: "message",
        name: messageName(reading, definition, event),
        key: keyOf(definition, event),
      };
    case "signalEventDefinition": {
      const signal = modelIn(definition, "signalRef");
      if (signal === null) flaw(reading, event, "the signal event refers to no signal; give it a signalRef");
      return { kind: "signal", name: textOrComputed(textIn(signal, "name") ?? signal?.id ?? "") };
    }
    case "timerEventDefinition":
      return timerOf(reading, event, definition);
    case "errorEventDefinition": {
      const error = modelIn(definition, "errorRef");
      return { kind: "error", code: textIn(error, "errorCode") ?? error?.id ?? null };
    }
    case "escalationEventDefinition": {
      const escalation = modelIn(definition, "escalationRef");
      return { kind: "escalation", code: textIn(escalation, "escalationCode") ?? escalation?.id ?? null };
    }
    case "conditionalEventDefinition": {
      const condition = expressionIn(definition, "condition");
      if (condition === null) flaw(reading, event, "the conditional event has no condition; give it one");
      return { kind: "conditional", condition: condition ?? textOrComputed("") };
    }
    case "linkEventDefinition":
      return { kind: "link", name: textIn(definition, "name") ?? "" };
    case "compensateEventDefinition": {
      const waits = (definition as unknown as Record<string, unknown>).waitForCompletion !== false;
      return { kind: "compensation", activity: idIn(definition, "activityRef"), waits };
    }
    case "cancelEventDefinition":
      return { kind: "cancel" };
    case "terminateEventDefinition":
      return { kind: "terminate" };
    default:
      flaw(reading, event, `an event can't be defined by ${definition.$type}; use one of the standard's definitions`);
      return null;
  }
}

/** The correlation key stands at the message, or at the event or task. */
export function keyOf(holder: Model, element: Model): Expression | null {
  const message = modelIn(holder, "messageRef");
  const ofMessage = message === null ? null : extensionsOf(message).correlationKey;
  return ofMessage ?? extensionsOf(holder).correlationKey ?? extensionsOf(element).correlationKey;
}

function timerOf(reading: Reading, event: Model, definition: Model): EventTrigger | null {
  for (const [name, timer] of [
    ["timeDate", "date"],
    ["timeDuration", "duration"],
    ["timeCycle", "cycle"],
  ] as const) {
    const value = valueIn(definition, name);
    if (value !== null) return { kind: "timer", timer, value };
  }
  flaw(reading, event, "the timer has no time; give it a timeDate, timeDuration or timeCycle");
  return null;
}

function flaw({ problems, lineOf }: Reading, event: Model, text: string): void {
  problems.add(event.id ?? null, lineOf(event.id ?? null), text);
}

import type { Command, Subscription } from "../machine/state.ts";
import { ROOT, type WorkingState } from "../machine/working-state.ts";
import { type EventElement, isEvent } from "../model/process.ts";

/** What an element of a run waits for, other than people and handlers. */
export interface OpenSubscription {
  /** The activity or sub-process that it belongs to, or the waiting event itself. 0 for the process. */
  readonly row: number;
  /** The event, or the receive task. */
  readonly element: string;
  readonly kind: "timer" | "message" | "signal" | "condition";
  /** The name of the message or signal. Null for others. */
  readonly name: string | null;
  /** The correlation key of the message. Empty if it has none; null for others. */
  readonly key: string | null;
  /** When the timer is due, and how often it repeats after that. Null if that has no bound. */
  readonly dueAt: number | null;
  readonly repetitionsLeft: number | null;
  /** The text of the condition. Null for others. */
  readonly condition: string | null;
  /** Whether it ends the activity or the scope that it is attached to. False for an event in the flow. */
  readonly isInterrupting: boolean;
}

/** The open subscriptions of a run: those of events, boundary events, event sub-processes and receive tasks. */
export function openSubscriptions(state: WorkingState): readonly OpenSubscription[] {
  return [...state.subscriptions.values()].map((subscription) => {
    const { row, element: id, trigger, due } = subscription;
    const element = state.process.elements.get(id);
    return {
      row: row === ROOT ? 0 : row,
      element: id,
      kind: kindOf(subscription),
      ...namesOf(subscription, state.commands.get(subscription.location)),
      dueAt: due?.at ?? null,
      repetitionsLeft: due?.left ?? null,
      condition: trigger.kind === "conditional" ? trigger.condition.text : null,
      isInterrupting: element !== undefined && isEvent(element) && isAttached(element) && element.isInterrupting,
    };
  });
}

/** An event that belongs to an activity or to a scope. */
function isAttached({ type }: EventElement): boolean {
  return type === "boundaryEvent" || type === "startEvent";
}

function kindOf({ trigger }: Subscription): OpenSubscription["kind"] {
  const { kind } = trigger;
  if (kind === "timer" || kind === "message" || kind === "signal") return kind;
  return "condition";
}

function namesOf(
  { name, trigger }: Subscription,
  command: Command | undefined,
): Pick<OpenSubscription, "name" | "key"> {
  if (command?.kind === "message") return { name: command.name, key: command.key };
  return { name: trigger.kind === "message" ? trigger.name : name, key: trigger.kind === "message" ? "" : null };
}

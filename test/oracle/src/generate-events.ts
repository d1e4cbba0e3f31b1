import {
  type ActivityBody,
  type BoundaryEvent,
  type Condition,
  ERRORS,
  ESCALATIONS,
  type Handler,
  isPassable,
  type Trigger,
  VARIABLES,
} from "./block.ts";
import { type BlockContext, type GeneratorState, newId } from "./generator-context.ts";

export function conditionOf({ chance }: GeneratorState): Condition {
  return { variable: chance.pick(VARIABLES), over: chance.between(0, 2) };
}

/** A trigger that comes from outside. */
export function waitTrigger(generator: GeneratorState, mayBeCondition: boolean): Trigger {
  const { chance, signals } = generator;
  const kind = chance.weighted({
    message: 3,
    timer: 3,
    signal: signals.length > 0 ? 3 : 0,
    condition: mayBeCondition ? 1 : 0,
  });
  if (kind === "message") return { kind };
  if (kind === "condition") return { kind, when: conditionOf(generator) };
  if (kind === "timer") return { kind, minutes: chance.between(1, 5), times: null };
  return { kind: "signal", name: signals.pop() ?? "" };
}

function anyTrigger(generator: GeneratorState, interrupts: boolean): Trigger {
  const { chance } = generator;
  const kind = chance.weighted({ wait: 4, error: interrupts ? 4 : 0, escalation: 3 });
  const code = (codes: readonly string[]): string | null => (chance.roll(0.3) ? null : chance.pick(codes));
  if (kind === "error") {
    const caught = code(ERRORS);
    return { kind, code: caught, failures: caught === ERRORS[0] };
  }
  if (kind === "escalation") return { kind, code: code(ESCALATIONS) };
  const trigger = waitTrigger(generator, false);
  const isCycle = trigger.kind === "timer" && !interrupts && chance.roll(0.6);
  return isCycle ? { ...trigger, times: chance.between(1, 3) } : trigger;
}

/** True if both triggers catch the same. Two such triggers at one place would be ambiguous. */
function isLike(a: Trigger, b: Trigger): boolean {
  return a.kind === b.kind && (a.kind === "error" || a.kind === "escalation") && "code" in b && a.code === b.code;
}

export function boundaryEventsOf(
  generator: GeneratorState,
  context: BlockContext,
  does: ActivityBody,
): readonly BoundaryEvent[] {
  const { chance } = generator;
  const boundaryEvents: BoundaryEvent[] = [];
  for (let count = chance.weighted({ "0": 5, "1": 4, "2": 2 }); boundaryEvents.length < Number(count); ) {
    const interrupts = chance.roll(0.6);
    const on = anyTrigger(generator, interrupts);
    if (boundaryEvents.some((boundary) => isLike(boundary.on, on))) count = "0";
    else boundaryEvents.push(boundaryEventOf(generator, context, on, interrupts));
  }
  const isTransaction = does.kind === "sub" && does.isTransaction;
  if (isTransaction) boundaryEvents.push(boundaryEventOf(generator, context, { kind: "cancel" }, true));
  return boundaryEvents;
}

function boundaryEventOf(
  generator: GeneratorState,
  context: BlockContext,
  on: Trigger,
  interrupts: boolean,
): BoundaryEvent {
  // The path of a non-interrupting event runs beside the branch, so it may end anywhere.
  const beside = interrupts ? {} : { mayDie: true, isCrowded: true };
  const path = generator.generate.seq(generator, { ...context, depth: context.depth + 1, ...beside });
  const rejoins = interrupts && isPassable(path) && (!context.mayDie || generator.chance.roll(0.6));
  return { id: newId(generator, "b"), on, interrupts, rejoins, path };
}

export function handlersOf(generator: GeneratorState, depth: number): readonly Handler[] {
  const { chance } = generator;
  const handlers: Handler[] = [];
  while (handlers.length < 2 && depth < 3 && generator.blocks > 0 && chance.roll(0.3)) {
    const interrupts = chance.roll(0.5);
    const on = anyTrigger(generator, interrupts);
    if (handlers.some((handler) => isLike(handler.on, on))) break;
    const id = newId(generator, "h");
    handlers.push({
      start: newId(generator, "hs"),
      on,
      interrupts,
      inside: generator.generate.scope(generator, id, depth + 1),
    });
  }
  return handlers;
}

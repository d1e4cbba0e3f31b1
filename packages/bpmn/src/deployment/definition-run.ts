import { type Ctx, Loop, type SelectArm, workflow } from "pawl";
import type { Evaluate } from "../expressions.ts";
import type { Variables } from "../machine/state.ts";
import { triggersOf } from "../machine/subscriptions.ts";
import type { Pins } from "../model/pins.ts";
import type { Element, EventTrigger, Expression, Process } from "../model/process.ts";
import { firstDue, nextDue, parseTimer } from "../model/timer.ts";
import { type MessageValue, messageStartTopic, signalTopic } from "../program/topics.ts";

/** A model as deployed. */
export type Source =
  | { readonly kind: "bpmn"; readonly text: string }
  | { readonly kind: "graph"; readonly text: string };

/** One version of a process. A definition run stores it, and starts instances when a trigger occurs. */
export interface Definition {
  readonly process: string;
  readonly version: number;
  readonly hash: string;
  readonly source: Source;
  readonly starts: readonly Start[];
  /** A draft starts no instances until it is published. */
  readonly isDraft?: boolean;
  /** The versions that were deployed with it, if it is bound to them. */
  readonly pins?: Pins;
}

/** A trigger that starts an instance, and its element. */
interface Start {
  readonly element: string;
  readonly trigger: EventTrigger;
}

interface Due {
  readonly at: number;
  readonly left: number | null;
}

interface WatchState {
  readonly listens: boolean;
  /** For each start: when its timer is due next, and how many repetitions are left. */
  readonly due: ReadonlyArray<Due | null>;
  readonly startedCount: number;
}

export const DEFINITION_WORKFLOW = "bpmn definition";
const COMMAND = "command";

/** The command that stops a definition from starting instances, because another version does. */
export const SUPERSEDED = "superseded";

/** The command that makes a definition start instances. */
export const LISTENING = "listening";

export function definitionId(process: string, version: number): string {
  return `bpmn ${process} ${version}`;
}

/**
 * The triggers that start a process: of its start events, of instantiating receive tasks, and of events after an instantiating
 * gateway.
 */
export function startsOf(process: Process, evaluate: Evaluate): readonly Start[] {
  return declaredStarts(process).map(({ element, trigger }) => ({ element, trigger: fixed(trigger, evaluate) }));
}

/** The start events whose computed name or time has no value before an instance has started, each with the reason. */
export function unusableStarts(
  process: Process,
  evaluate: Evaluate,
): ReadonlyArray<{ readonly element: string; readonly text: string }> {
  return declaredStarts(process).flatMap(({ element, trigger }) => {
    const expression = computedIn(trigger);
    if (expression === null) return [];
    const made = fixed(trigger, evaluate);
    if (isUsable(made)) return [];
    const text = `"${expression.text}" has no value as the ${trigger.kind} of a start event; it cannot use variables`;
    return [{ element, text }];
  });
}

function computedIn(trigger: EventTrigger): Expression | null {
  if (trigger.kind === "message") return trigger.computed ?? null;
  const expression = trigger.kind === "signal" ? trigger.name : trigger.kind === "timer" ? trigger.value : null;
  return expression?.isStatic === false ? expression : null;
}

function isUsable(made: EventTrigger): boolean {
  if (made.kind === "message") return made.name !== "";
  if (made.kind === "signal") return made.name.text !== "";
  return made.kind === "timer" && parseTimer(made.timer, made.value.text) !== null;
}

/** Evaluates a computed name or time. A start event is waited for before there are variables. */
function fixed(trigger: EventTrigger, evaluate: Evaluate): EventTrigger {
  const value = (expression: Expression): Expression => {
    if (expression.isStatic) return expression;
    const found = evaluated(expression, evaluate);
    return { text: typeof found === "string" ? found : "", language: null, isStatic: true };
  };
  if (trigger.kind === "signal") return { ...trigger, name: value(trigger.name) };
  if (trigger.kind === "message" && trigger.computed !== undefined) {
    return { kind: "message", name: value(trigger.computed).text, key: trigger.key };
  }
  return trigger.kind === "timer" ? { ...trigger, value: value(trigger.value) } : trigger;
}

/** An evaluation that fails has no value. */
function evaluated(expression: Expression, evaluate: Evaluate): unknown {
  try {
    return evaluate(expression, {});
  } catch {
    return null;
  }
}

function declaredStarts(process: Process): readonly Start[] {
  return (process.scopes.get(process.id)?.elements ?? []).flatMap((id) => {
    const element = process.elements.get(id);
    if (element === undefined) return [];
    if (element.type === "eventBasedGateway" && element.instantiates !== null) return afterGateway(process, element);
    const isStart = element.type === "startEvent" || (element.type === "receiveTask" && element.instantiates);
    return isStart ? startsAt(element) : [];
  });
}

function startsAt(element: Element): readonly Start[] {
  return triggersOf(element).map((trigger) => ({ element: element.id, trigger }));
}

function afterGateway(process: Process, { outgoing }: Element): readonly Start[] {
  const targets = outgoing.map((id) => process.elements.get(process.flows.get(id)?.target ?? ""));
  return targets.flatMap((target) => (target === undefined ? [] : startsAt(target)));
}

/** Starts an instance. Starting the same id again has no effect. */
type StartInstance = (
  definition: Definition,
  id: string,
  startedBy: { readonly element: string; readonly variables: Variables },
) => Promise<unknown>;

/** The workflow of definition runs. */
export function definitionWorkflow(startInstance: StartInstance) {
  return workflow(DEFINITION_WORKFLOW, async (ctx: Ctx, definition: Definition): Promise<void> => {
    const due = definition.starts.map(({ trigger }) => firstOf(trigger, ctx.now()));
    await ctx.loop({
      name: "watch",
      state: { listens: definition.isDraft !== true, due, startedCount: 0 } as WatchState,
      run: async (round, watch) => {
        const got = await round.select(armsOf(definition, watch));
        const start = definition.starts[Number(got.key)];
        if (start === undefined && got.value === LISTENING && !watch.listens) {
          const since = definition.starts.map(({ trigger }) => firstOf(trigger, ctx.now()));
          return Loop.continue({ ...watch, listens: true, due: since });
        }
        if (start === undefined) return Loop.continue({ ...watch, listens: got.value === LISTENING });
        const { variables = {} } = (got.value ?? {}) as Partial<MessageValue>;
        const begun = sameSignal(definition, start);
        for (const [i, { element }] of begun.entries()) {
          const id = `${ctx.runId} ${watch.startedCount + 1 + i}`;
          await round.step("begin", () => startInstance(definition, id, { element, variables }).then(() => undefined));
        }
        return Loop.continue(afterStart(watch, start, { index: Number(got.key), begun: begun.length }));
      },
    });
  });
}

/** All starts of one signal: it is a broadcast, so each of them begins an instance. The run receives it once. */
function sameSignal({ starts }: Definition, start: Start): readonly Start[] {
  if (start.trigger.kind !== "signal") return [start];
  const { name } = start.trigger;
  return starts.filter(({ trigger }) => trigger.kind === "signal" && trigger.name.text === name.text);
}

function afterStart(
  watch: WatchState,
  { trigger }: Start,
  { index, begun }: { readonly index: number; readonly begun: number },
): WatchState {
  const was = watch.due[index] ?? null;
  const timer = trigger.kind === "timer" ? parseTimer(trigger.timer, trigger.value.text) : null;
  const next = timer === null || was === null ? null : nextDue(timer, was);
  return {
    ...watch,
    startedCount: watch.startedCount + begun,
    due: watch.due.map((each, i) => (i === index ? next : each)),
  };
}

function firstOf(trigger: EventTrigger, now: number): Due | null {
  const timer = trigger.kind === "timer" ? parseTimer(trigger.timer, trigger.value.text) : null;
  return timer === null ? null : firstDue(timer, now);
}

function armsOf({ starts }: Definition, { listens, due }: WatchState): Record<string, SelectArm> {
  const arms: Record<string, SelectArm> = { [COMMAND]: { message: COMMAND } };
  if (!listens) return arms;
  starts.forEach(({ trigger }, i) => {
    if (trigger.kind === "message") arms[i] = { event: messageStartTopic(trigger.name) };
    if (trigger.kind === "signal") arms[i] = { event: signalTopic(trigger.name.text) };
    const timer = due[i] ?? null;
    if (timer !== null) arms[i] = { until: timer.at };
  });
  return arms;
}

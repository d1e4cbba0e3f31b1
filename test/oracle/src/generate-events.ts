import {
  type Condition,
  type Doing,
  type Edge,
  ERRORS,
  ESCALATIONS,
  type Handler,
  isPassable,
  type Trigger,
  VARIABLES,
} from "./block.ts";
import { newId, type Soil, type Stock } from "./soil.ts";

export function conditionOf({ chance }: Stock): Condition {
  return { variable: chance.pick(VARIABLES), over: chance.between(0, 2) };
}

/** What can be waited for from outside. */
export function waitTrigger(stock: Stock, mayBeCondition: boolean): Trigger {
  const { chance, signals } = stock;
  const kind = chance.weighted({
    message: 3,
    timer: 3,
    signal: signals.length > 0 ? 3 : 0,
    condition: mayBeCondition ? 1 : 0,
  });
  if (kind === "message") return { kind };
  if (kind === "condition") return { kind, when: conditionOf(stock) };
  if (kind === "timer") return { kind, minutes: chance.between(1, 5), times: null };
  return { kind: "signal", name: signals.pop() ?? "" };
}

function anyTrigger(stock: Stock, interrupts: boolean): Trigger {
  const { chance } = stock;
  const kind = chance.weighted({ wait: 4, error: interrupts ? 4 : 0, escalation: 3 });
  const code = (codes: readonly string[]): string | null => (chance.roll(0.3) ? null : chance.pick(codes));
  if (kind === "error") return { kind, code: code(ERRORS) };
  if (kind === "escalation") return { kind, code: code(ESCALATIONS) };
  const trigger = waitTrigger(stock, false);
  const isCycle = trigger.kind === "timer" && !interrupts && chance.roll(0.6);
  return isCycle ? { ...trigger, times: chance.between(1, 3) } : trigger;
}

/** What two of the same would catch is told apart by nobody: each is there once. */
function isLike(a: Trigger, b: Trigger): boolean {
  return a.kind === b.kind && (a.kind === "error" || a.kind === "escalation") && "code" in b && a.code === b.code;
}

export function edgesOf(stock: Stock, soil: Soil, does: Doing): readonly Edge[] {
  const { chance } = stock;
  const edges: Edge[] = [];
  for (let count = chance.weighted({ "0": 5, "1": 4, "2": 2 }); edges.length < Number(count); ) {
    const interrupts = chance.roll(0.6);
    const on = anyTrigger(stock, interrupts);
    if (edges.some((edge) => isLike(edge.on, on))) count = "0";
    else edges.push(edgeOf(stock, soil, on, interrupts));
  }
  const isTransaction = does.kind === "sub" && does.isTransaction;
  if (isTransaction) edges.push(edgeOf(stock, soil, { kind: "cancel" }, true));
  return edges;
}

function edgeOf(stock: Stock, soil: Soil, on: Trigger, interrupts: boolean): Edge {
  // What does not interrupt is beside its branch, and may end as it likes.
  const beside = interrupts ? {} : { mayDie: true, isCrowded: true };
  const path = stock.grow.seq(stock, { ...soil, depth: soil.depth + 1, ...beside });
  const rejoins = interrupts && isPassable(path) && (!soil.mayDie || stock.chance.roll(0.6));
  return { id: newId(stock, "b"), on, interrupts, rejoins, path };
}

export function handlersOf(stock: Stock, depth: number): readonly Handler[] {
  const { chance } = stock;
  const handlers: Handler[] = [];
  while (handlers.length < 2 && depth < 3 && stock.blocks > 0 && chance.roll(0.3)) {
    const interrupts = chance.roll(0.5);
    const on = anyTrigger(stock, interrupts);
    if (handlers.some((handler) => isLike(handler.on, on))) break;
    const id = newId(stock, "h");
    handlers.push({ start: newId(stock, "hs"), on, interrupts, inside: stock.grow.scope(stock, id, depth + 1) });
  }
  return handlers;
}

import type { Chance } from "pawl-test-shared/chance";
import {
  type Activity,
  type Block,
  type Doing,
  type Ended,
  ERRORS,
  ESCALATIONS,
  type Fork,
  isPassable,
  type Many,
  type Race,
  type Scope,
  type Thrown,
  VARIABLES,
} from "./block.ts";
import { conditionOf, edgesOf, handlersOf, waitTrigger } from "./generate-events.ts";
import { newId, type Soil, type Stock } from "./soil.ts";

const DEPTH_MAX = 3;

/** A random process. What acts on others (throws, ends) comes right after a task: so no two act in the same moment. */
export function generate(chance: Chance, signals: readonly string[]): Scope {
  const grow = { seq: seqOf, scope: scopeOf };
  const stock: Stock = { chance, ids: 0, blocks: chance.between(3, 16), signals: [...signals], grow };
  return scopeOf(stock, "p", 0);
}

function scopeOf(stock: Stock, id: string, depth: number, mayCancel = false): Scope {
  const soil: Soil = {
    depth,
    inRepeat: false,
    inInclusive: false,
    isCrowded: false,
    mayDie: true,
    mayCancel,
    undoable: [],
  };
  const body = seqOf(stock, soil);
  return { id, body, handlers: handlersOf(stock, depth) };
}

function seqOf(stock: Stock, soil: Soil): Block {
  const blocks: Block[] = [];
  const length = stock.chance.between(1, 3);
  while (blocks.length < length) {
    const block = blockOf(stock, soil);
    blocks.push(block);
    if (!isPassable(block)) break;
  }
  return { kind: "seq", blocks };
}

function taskOf(stock: Stock): Activity {
  const kind = stock.chance.weighted({ work: 8, user: 1, receive: 1, call: 1 });
  return { kind: "activity", id: newId(stock, "t"), does: { kind }, edges: [], many: null, undo: null };
}

function blockOf(stock: Stock, soil: Soil): Block {
  stock.blocks -= 1;
  if (stock.blocks <= 0) return taskOf(stock);
  const isDeep = soil.depth >= DEPTH_MAX;
  const kind = stock.chance.weighted({
    activity: 8,
    catch: 2,
    fork: isDeep ? 1 : 6,
    race: isDeep ? 0 : 1.5,
    repeat: isDeep ? 0 : 1.5,
    link: 0.4,
    throw: 3,
    end: !soil.mayDie ? 0 : soil.mayCancel ? 5 : 1.5,
  });
  const deeper = { ...soil, depth: soil.depth + 1 };
  switch (kind) {
    case "activity":
      return activityOf(stock, soil);
    case "catch":
      return { kind: "catch", id: newId(stock, "c"), on: waitTrigger(stock, true) };
    case "fork":
      return forkOf(stock, deeper);
    case "race":
      return raceOf(stock, deeper);
    case "repeat":
      return repeatOf(stock, deeper);
    case "link":
      return { kind: "link", id: newId(stock, "l") };
    case "throw":
      return throwOf(stock, soil);
    case "end":
      return {
        kind: "seq",
        blocks: [taskOf(stock), { kind: "end", id: newId(stock, "z"), what: endedOf(stock, soil) }],
      };
  }
}

function activityOf(stock: Stock, soil: Soil): Activity {
  const { chance } = stock;
  const isSub = soil.depth < DEPTH_MAX && chance.roll(0.4);
  const task = taskOf(stock);
  const id = isSub ? newId(stock, "s") : task.id;
  const isTransaction = isSub && chance.roll(0.35);
  const does: Doing = isSub
    ? { kind: "sub", isTransaction, scope: scopeOf(stock, id, soil.depth + 1, isTransaction) }
    : task.does;
  const many = chance.roll(0.25) ? manyOf(stock, does) : null;
  const undo = chance.roll(soil.mayCancel ? 0.7 : 0.3) ? newId(stock, "u") : null;
  const edges = edgesOf(stock, soil, does);
  if (undo !== null || isSub) soil.undoable.push(id);
  return { kind: "activity", id, does, edges, many, undo };
}

function manyOf(stock: Stock, does: Doing): Many {
  const { chance } = stock;
  const kind = chance.weighted({ parallel: 4, sequential: 2, rounds: 2 });
  if (kind === "rounds") {
    // A sub-process may be over without ever having waited: it must not turn for ever.
    const max = chance.roll(0.5) || does.kind === "sub" ? chance.between(1, 3) : null;
    return { kind, testBefore: chance.roll(0.4), goesOn: conditionOf(stock), max };
  }
  const count = chance.roll(0.3) ? chance.pick(VARIABLES) : chance.between(0, 3);
  const enough = chance.roll(0.3) ? chance.between(1, 2) : null;
  return { kind, count, enough, gathers: does.kind === "work" && chance.roll(0.5) };
}

function forkOf(stock: Stock, soil: Soil): Fork {
  const { chance } = stock;
  const mayBeComplex = !soil.inRepeat && !soil.inInclusive && soil.mayDie;
  const gateway = chance.weighted({
    exclusive: 3,
    parallel: soil.isCrowded ? 0 : 4,
    inclusive: soil.isCrowded ? 0 : 4,
    complex: mayBeComplex && !soil.isCrowded ? 1 : 0,
  });
  const inside: Soil = {
    ...soil,
    inInclusive: soil.inInclusive || gateway === "inclusive",
    mayDie: soil.mayDie && gateway !== "complex",
  };
  const isChoice = gateway === "exclusive" || gateway === "inclusive";
  const total = chance.between(2, 3);
  const defaultAt = isChoice && chance.roll(0.9) ? total - 1 : -1;
  const branches = Array.from({ length: total }, (_, i) => {
    const always = !isChoice || (gateway === "inclusive" && chance.roll(0.15));
    const when = i === defaultAt ? "default" : always ? "always" : conditionOf(stock);
    const body: Block = chance.roll(0.1) ? { kind: "seq", blocks: [] } : seqOf(stock, inside);
    return { when, body } as const;
  });
  return { kind: "fork", id: newId(stock, "f"), gateway, branches, enough: chance.between(1, total) };
}

function raceOf(stock: Stock, soil: Soil): Race {
  const branches = Array.from({ length: stock.chance.between(2, 3) }, () => ({
    id: newId(stock, "c"),
    on: waitTrigger(stock, false),
    body: seqOf(stock, soil),
  }));
  return { kind: "race", id: newId(stock, "r"), branches };
}

/** Begins with a task, so that it never turns without waiting. */
function repeatOf(stock: Stock, soil: Soil): Block {
  const rest = seqOf(stock, { ...soil, inRepeat: true });
  const body: Block = { kind: "seq", blocks: [{ ...taskOf(stock), does: { kind: "work" } }, rest] };
  return { kind: "repeat", id: newId(stock, "w"), body, again: conditionOf(stock) };
}

function throwOf(stock: Stock, soil: Soil): Block {
  const { chance } = stock;
  const kind = chance.weighted({ escalation: 4, signal: 2, message: 1, compensation: 4 });
  const what = (): Thrown => {
    if (kind === "escalation") return { kind, code: chance.pick(ESCALATIONS) };
    if (kind === "signal") return { kind, name: chance.pick(["g1", "g2", "g3"]) };
    if (kind === "message") return { kind };
    return { kind, of: soil.undoable.length > 0 && chance.roll(0.3) ? chance.pick(soil.undoable) : null };
  };
  const thrown: Block = { kind: "throw", id: newId(stock, "x"), what: what() };
  const after = kind === "signal" ? [taskOf(stock)] : [];
  return { kind: "seq", blocks: [taskOf(stock), thrown, ...after] };
}

function endedOf({ chance }: Stock, { mayCancel }: Soil): Ended {
  const kind = chance.weighted({ none: 3, error: 2, escalation: 2, terminate: 1, cancel: mayCancel ? 4 : 0 });
  if (kind === "error") return { kind, code: chance.pick(ERRORS) };
  if (kind === "escalation") return { kind, code: chance.pick(ESCALATIONS) };
  return { kind };
}

import type { Chance } from "pawl-test-shared/chance";
import {
  type Activity,
  type ActivityBody,
  type Block,
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
import { boundaryEventsOf, conditionOf, handlersOf, waitTrigger } from "./generate-events.ts";
import { type BlockContext, type GeneratorState, newId } from "./generator-context.ts";

const DEPTH_MAX = 3;

/** Generates a process. Throws and ends come right after a task, so that no two of them happen at the same moment. */
export function generate(chance: Chance, signals: readonly string[]): Scope {
  const parts = { seq: seqOf, scope: scopeOf };
  const generator: GeneratorState = {
    chance,
    ids: 0,
    blocks: chance.between(3, 16),
    signals: [...signals],
    generate: parts,
  };
  return scopeOf(generator, "p", 0);
}

function scopeOf(generator: GeneratorState, id: string, depth: number, mayCancel = false): Scope {
  const context: BlockContext = {
    depth,
    inRepeat: false,
    inInclusive: false,
    isCrowded: false,
    mayDie: true,
    mayCancel,
    undoable: [],
  };
  const body = seqOf(generator, context);
  return { id, body, handlers: handlersOf(generator, depth) };
}

function seqOf(generator: GeneratorState, context: BlockContext): Block {
  const blocks: Block[] = [];
  const length = generator.chance.between(1, 3);
  while (blocks.length < length) {
    const block = blockOf(generator, context);
    blocks.push(block);
    if (!isPassable(block)) break;
  }
  return { kind: "seq", blocks };
}

function taskOf(generator: GeneratorState): Activity {
  const kind = generator.chance.weighted({ work: 8, user: 1, receive: 1, call: 1 });
  return { kind: "activity", id: newId(generator, "t"), does: { kind }, boundaryEvents: [], many: null, undo: null };
}

function blockOf(generator: GeneratorState, context: BlockContext): Block {
  generator.blocks -= 1;
  if (generator.blocks <= 0) return taskOf(generator);
  const isDeep = context.depth >= DEPTH_MAX;
  const kind = generator.chance.weighted({
    activity: 8,
    catch: 2,
    fork: isDeep ? 1 : 6,
    race: isDeep ? 0 : 1.5,
    repeat: isDeep ? 0 : 1.5,
    link: 0.4,
    throw: 3,
    end: !context.mayDie ? 0 : context.mayCancel ? 5 : 1.5,
  });
  const deeper = { ...context, depth: context.depth + 1 };
  switch (kind) {
    case "activity":
      return activityOf(generator, context);
    case "catch":
      return { kind: "catch", id: newId(generator, "c"), on: waitTrigger(generator, true) };
    case "fork":
      return forkOf(generator, deeper);
    case "race":
      return raceOf(generator, deeper);
    case "repeat":
      return repeatOf(generator, deeper);
    case "link":
      return { kind: "link", id: newId(generator, "l") };
    case "throw":
      return throwOf(generator, context);
    case "end":
      return {
        kind: "seq",
        blocks: [taskOf(generator), { kind: "end", id: newId(generator, "z"), thrown: endedOf(generator, context) }],
      };
  }
}

function activityOf(generator: GeneratorState, context: BlockContext): Activity {
  const { chance } = generator;
  const isSub = context.depth < DEPTH_MAX && chance.roll(0.4);
  const task = taskOf(generator);
  const id = isSub ? newId(generator, "s") : task.id;
  const isTransaction = isSub && chance.roll(0.35);
  const does: ActivityBody = isSub
    ? { kind: "sub", isTransaction, scope: scopeOf(generator, id, context.depth + 1, isTransaction) }
    : task.does;
  const many = chance.roll(0.25) ? manyOf(generator, does) : null;
  const undo = chance.roll(context.mayCancel ? 0.7 : 0.3) ? newId(generator, "u") : null;
  const boundaryEvents = boundaryEventsOf(generator, context, does);
  if (undo !== null || isSub) context.undoable.push(id);
  return { kind: "activity", id, does, boundaryEvents, many, undo };
}

function manyOf(generator: GeneratorState, does: ActivityBody): Many {
  const { chance } = generator;
  const kind = chance.weighted({ parallel: 4, sequential: 2, loop: 2 });
  if (kind === "loop") {
    // A sub-process may end without waiting, so its loop needs a maximum.
    const max = chance.roll(0.5) || does.kind === "sub" ? chance.between(1, 3) : null;
    return { kind, testBefore: chance.roll(0.4), continues: conditionOf(generator), max };
  }
  const count = chance.roll(0.3) ? chance.pick(VARIABLES) : chance.between(0, 3);
  const enough = chance.roll(0.3) ? chance.between(1, 2) : null;
  return { kind, count, enough, collects: does.kind === "work" && chance.roll(0.5) };
}

function forkOf(generator: GeneratorState, context: BlockContext): Fork {
  const { chance } = generator;
  const mayBeComplex = !context.inRepeat && !context.inInclusive && context.mayDie;
  const gateway = chance.weighted({
    exclusive: 3,
    parallel: context.isCrowded ? 0 : 4,
    inclusive: context.isCrowded ? 0 : 4,
    complex: mayBeComplex && !context.isCrowded ? 1 : 0,
  });
  const inside: BlockContext = {
    ...context,
    inInclusive: context.inInclusive || gateway === "inclusive",
    mayDie: context.mayDie && gateway !== "complex",
  };
  const isChoice = gateway === "exclusive" || gateway === "inclusive";
  const total = chance.between(2, 3);
  const defaultAt = isChoice && chance.roll(0.9) ? total - 1 : -1;
  const branches = Array.from({ length: total }, (_, i) => {
    const always = !isChoice || (gateway === "inclusive" && chance.roll(0.15));
    const when = i === defaultAt ? "default" : always ? "always" : conditionOf(generator);
    const body: Block = chance.roll(0.1) ? { kind: "seq", blocks: [] } : seqOf(generator, inside);
    return { when, body } as const;
  });
  return { kind: "fork", id: newId(generator, "f"), gateway, branches, enough: chance.between(1, total) };
}

function raceOf(generator: GeneratorState, context: BlockContext): Race {
  const branches = Array.from({ length: generator.chance.between(2, 3) }, () => ({
    id: newId(generator, "c"),
    on: waitTrigger(generator, false),
    body: seqOf(generator, context),
  }));
  return { kind: "race", id: newId(generator, "r"), branches };
}

/** Starts with a task, so that each iteration waits. */
function repeatOf(generator: GeneratorState, context: BlockContext): Block {
  const rest = seqOf(generator, { ...context, inRepeat: true });
  const body: Block = { kind: "seq", blocks: [{ ...taskOf(generator), does: { kind: "work" } }, rest] };
  return { kind: "repeat", id: newId(generator, "w"), body, again: conditionOf(generator) };
}

function throwOf(generator: GeneratorState, context: BlockContext): Block {
  const { chance } = generator;
  const kind = chance.weighted({ escalation: 4, signal: 2, message: 1, compensation: 4 });
  const randomThrown = (): Thrown => {
    if (kind === "escalation") return { kind, code: chance.pick(ESCALATIONS) };
    if (kind === "signal") return { kind, name: chance.pick(["g1", "g2", "g3"]) };
    if (kind === "message") return { kind };
    return { kind, of: context.undoable.length > 0 && chance.roll(0.3) ? chance.pick(context.undoable) : null };
  };
  const thrown: Block = { kind: "throw", id: newId(generator, "x"), thrown: randomThrown() };
  const after = kind === "signal" ? [taskOf(generator)] : [];
  return { kind: "seq", blocks: [taskOf(generator), thrown, ...after] };
}

function endedOf({ chance }: GeneratorState, { mayCancel }: BlockContext): Ended {
  const kind = chance.weighted({ none: 3, error: 2, escalation: 2, terminate: 1, cancel: mayCancel ? 4 : 0 });
  if (kind === "error") return { kind, code: chance.pick(ERRORS) };
  if (kind === "escalation") return { kind, code: chance.pick(ESCALATIONS) };
  return { kind };
}

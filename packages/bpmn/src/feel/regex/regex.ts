import { parseRegex, RegexSyntaxError } from "./parse-regex.ts";
import { type Pattern, type RegexFlags, regexFlags } from "./pattern.ts";

/**
 * A backtracking matcher that never visits the same pair of instruction and text position twice, so time is bounded by the product
 * of both lengths. Patterns with back references cannot be bounded this way; the step budget bounds them.
 */

/** An instruction that tests the text at a position. */
type Condition =
  | { readonly kind: "char"; readonly accepts: (point: number) => boolean }
  | { readonly kind: "start" }
  | { readonly kind: "end" }
  | { readonly kind: "back"; readonly index: number };

type Instruction =
  | Condition
  | { readonly kind: "match" }
  | { readonly kind: "save"; readonly slot: number }
  | { readonly kind: "jump"; to: number }
  | { readonly kind: "split"; first: number; second: number };

const INSTRUCTIONS_MAX = 10_000;

export interface RegexMatch {
  readonly start: number;
  readonly end: number;
  /** Index 0 is group 1. Undefined if a group took no part in the match. */
  readonly groups: readonly (string | undefined)[];
}

/** Returns the first match at or after a position. Null if there is none. */
type Search = (from: number) => RegexMatch | null;

export interface Regex {
  readonly groups: number;
  /** Prepares a search in a text of code points. `step` receives the cost. */
  readonly on: (chars: readonly string[], step: (count: number) => void) => Search;
}

/** Null if the pattern or its flags are not valid in XPath. */
export function compileRegex(text: string, flagText: string): Regex | null {
  const flags = regexFlags(flagText);
  if (flags === null) return null;
  try {
    const { pattern, groups } = parseRegex(text, flags);
    const program: Instruction[] = [];
    emit(pattern, program);
    program.push({ kind: "match" });
    return { groups, on: (chars, step) => searchOn({ program, groups, flags }, chars, step) };
  } catch (error) {
    if (error instanceof RegexSyntaxError) return null;
    throw error;
  }
}

function push(program: Instruction[], instruction: Instruction): void {
  if (program.length >= INSTRUCTIONS_MAX) throw new RegexSyntaxError("the pattern is too long");
  program.push(instruction);
}

function emit(pattern: Pattern, program: Instruction[]): void {
  switch (pattern.kind) {
    case "empty":
      return;
    case "start":
    case "end":
      push(program, { kind: pattern.kind });
      return;
    case "char":
    case "back":
      push(program, pattern);
      return;
    case "sequence":
      for (const part of pattern.parts) emit(part, program);
      return;
    case "group":
      if (pattern.index !== null) push(program, { kind: "save", slot: pattern.index * 2 });
      emit(pattern.body, program);
      if (pattern.index !== null) push(program, { kind: "save", slot: pattern.index * 2 + 1 });
      return;
    case "choice":
      emitChoice(pattern.options, program);
      return;
    case "repeat":
      emitRepeat(pattern, program);
  }
}

function emitChoice(options: readonly Pattern[], program: Instruction[]): void {
  const jumps: Extract<Instruction, { readonly kind: "jump" }>[] = [];
  for (const [i, option] of options.entries()) {
    if (i === options.length - 1) {
      emit(option, program);
      break;
    }
    const split = { kind: "split" as const, first: program.length + 1, second: 0 };
    push(program, split);
    emit(option, program);
    const jump = { kind: "jump" as const, to: 0 };
    push(program, jump);
    jumps.push(jump);
    split.second = program.length;
  }
  for (const jump of jumps) jump.to = program.length;
}

function emitRepeat(pattern: Extract<Pattern, { readonly kind: "repeat" }>, program: Instruction[]): void {
  const { body, min, max, isGreedy } = pattern;
  for (let i = 0; i < min; i += 1) emit(body, program);
  const optional = (): Extract<Instruction, { readonly kind: "split" }> => {
    const split = { kind: "split" as const, first: program.length + 1, second: program.length + 1 };
    push(program, split);
    return split;
  };
  const leave = (split: Extract<Instruction, { readonly kind: "split" }>): void => {
    if (isGreedy) split.second = program.length;
    else split.first = program.length;
  };
  if (max === Number.POSITIVE_INFINITY) {
    const at = program.length;
    const split = optional();
    emit(body, program);
    push(program, { kind: "jump", to: at });
    leave(split);
    return;
  }
  const splits: Extract<Instruction, { readonly kind: "split" }>[] = [];
  for (let i = min; i < max; i += 1) {
    splits.push(optional());
    emit(body, program);
  }
  for (const split of splits) leave(split);
}

interface Machine {
  readonly program: readonly Instruction[];
  readonly groups: number;
  readonly flags: RegexFlags;
}

function searchOn(machine: Machine, chars: readonly string[], step: (count: number) => void): Search {
  const points = chars.map((char) => char.codePointAt(0) ?? 0);
  const isBounded = !machine.program.some((instruction) => instruction.kind === "back");
  const visited = isBounded ? new VisitedPairs(machine.program.length, points.length + 1, step) : null;
  return (from) => {
    visited?.clear();
    // A visited pair failed, and fails for every start position, so all starts of one search share the visited pairs.
    for (let start = from; start <= points.length; start += 1) {
      const slots = matchAt(machine, { chars, points }, start, visited, step);
      if (slots === null) continue;
      const groups = Array.from({ length: machine.groups }, (_, i) => textOf(chars, slots, i + 1));
      return { start, end: slots[1] ?? start, groups };
    }
    return null;
  };
}

/** Pairs of instruction and text position, one bit each. The cost of `clear` depends on the bits set, not on the size. */
class VisitedPairs {
  readonly #bits: Uint8Array;
  readonly #width: number;
  readonly #touched: number[] = [];

  constructor(height: number, width: number, step: (count: number) => void) {
    const bytes = Math.ceil((height * width) / 8);
    step(Math.ceil(bytes / 32));
    this.#bits = new Uint8Array(bytes);
    this.#width = width;
  }

  clear(): void {
    for (const byte of this.#touched) this.#bits[byte] = 0;
    this.#touched.length = 0;
  }

  /** Returns false if the pair was visited before. */
  add(pc: number, at: number): boolean {
    const index = pc * this.#width + at;
    const byte = Math.floor(index / 8);
    const bit = 1 << (index % 8);
    const found = this.#bits[byte] ?? 0;
    if ((found & bit) !== 0) return false;
    if (found === 0) this.#touched.push(byte);
    this.#bits[byte] = found | bit;
    return true;
  }
}

function textOf(chars: readonly string[], slots: readonly (number | undefined)[], index: number): string | undefined {
  const [start, end] = [slots[index * 2], slots[index * 2 + 1]];
  return start === undefined || end === undefined ? undefined : chars.slice(start, end).join("");
}

type Slots = (number | undefined)[];
type BacktrackEntry =
  | { readonly pc: number; readonly at: number }
  | { readonly slot: number; readonly old: number | undefined };
interface Text {
  readonly chars: readonly string[];
  readonly points: readonly number[];
}

function matchAt(
  { program, flags }: Machine,
  text: Text,
  start: number,
  visited: VisitedPairs | null,
  step: (count: number) => void,
): Slots | null {
  const slots: Slots = [start];
  const todo: BacktrackEntry[] = [{ pc: 0, at: start }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if ("slot" in next) {
      slots[next.slot] = next.old;
      continue;
    }
    let { pc, at } = next;
    for (;;) {
      step(1 / 8);
      if (visited !== null && !visited.add(pc, at)) break;
      const instruction = program[pc];
      if (instruction === undefined) break;
      if (instruction.kind === "match") {
        slots[1] = at;
        return slots;
      }
      if (instruction.kind === "split") {
        todo.push({ pc: instruction.second, at });
        pc = instruction.first;
      } else if (instruction.kind === "jump") pc = instruction.to;
      else if (instruction.kind === "save") {
        todo.push({ slot: instruction.slot, old: slots[instruction.slot] });
        slots[instruction.slot] = at;
        pc += 1;
      } else {
        const consumed = consume(instruction, text, at, slots, flags);
        if (consumed === null) break;
        at += consumed;
        pc += 1;
      }
    }
  }
  return null;
}

/** Returns the number of characters consumed. Null if the instruction does not match. */
function consume(
  instruction: Condition,
  { chars, points }: Text,
  at: number,
  slots: Slots,
  flags: RegexFlags,
): number | null {
  switch (instruction.kind) {
    case "char": {
      const point = points[at];
      return point !== undefined && instruction.accepts(point) ? 1 : null;
    }
    case "start":
      return at === 0 || (flags.multiline && points[at - 1] === 10) ? 0 : null;
    case "end":
      return at === points.length || (flags.multiline && points[at] === 10) ? 0 : null;
    case "back": {
      const group = textOf(chars, slots, instruction.index) ?? "";
      const wanted = [...group];
      const found = chars.slice(at, at + wanted.length).join("");
      const same = flags.ignoreCase ? found.toLowerCase() === group.toLowerCase() : found === group;
      return same ? wanted.length : null;
    }
  }
}

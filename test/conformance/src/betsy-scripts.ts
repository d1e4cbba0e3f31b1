import { BpmnError, type Expression, type Job, type Variables } from "@pawl/bpmn";
import type { VirtualWorld } from "pawl/testing";

/** The models contain no code: a script is one word, a condition is plain text. This file implements their meaning as defined by the suite. */

/** An effect of a script. All attempts of the same work have the same key, so work that is repeated after a crash counts once. */
export type Note =
  | { readonly kind: "word"; readonly key: string; readonly word: string }
  | { readonly kind: "marker" }
  | { readonly kind: "from" | "to"; readonly name: string; readonly at: number };

export interface Notes {
  readonly all: readonly Note[];
  add(note: Note): void;
}

function notesInMemory(): Notes {
  const all: Note[] = [];
  return { all, add: (note) => all.push(note) };
}

/** The effects of the scripts of one case. */
export class Trace {
  readonly #notes: Notes;
  readonly #world: VirtualWorld;

  constructor(world: VirtualWorld, notes = notesInMemory()) {
    this.#world = world;
    this.#notes = notes;
  }

  /** All entries, including those that are only known at the end. The marker is included if the case expects it. */
  all(expected: readonly string[]): readonly string[] {
    const { all } = this.#notes;
    const words = new Map(all.flatMap((note) => (note.kind === "word" ? [[note.key, note.word] as const] : [])));
    const [a, b] = ["CREATE_TIMESTAMP_LOG_1", "CREATE_TIMESTAMP_LOG_2"].map((name) => this.#interval(name));
    const overlap = a && b && a.from < b.to && b.from < a.to;
    const marker = all.some(({ kind }) => kind === "marker") && expected.includes("MARKER_exists");
    return [...words.values(), ...(marker ? ["MARKER_exists"] : []), ...(overlap ? ["EXECUTION_parallel"] : [])];
  }

  /** From the first attempt to the last. */
  #interval(name: string): { readonly from: number; readonly to: number } | null {
    const times = (kind: "from" | "to"): readonly number[] =>
      this.#notes.all.flatMap((note) => (note.kind === kind && note.name === name ? [note.at] : []));
    const [from] = times("from");
    const to = times("to").at(-1);
    return from === undefined || to === undefined ? null : { from, to };
  }

  async script({ element, variables, idempotencyKey }: Job): Promise<Variables> {
    const word = "script" in element ? (element.script?.text.trim() ?? "") : "";
    const count = Number(variables.integerVariable ?? 0) + 1;
    switch (word) {
      case "CREATE_LOG_FILE":
        return {};
      case "CREATE_MARKER_FILE":
        this.#notes.add({ kind: "marker" });
        return {};
      case "INCREMENT_INTEGER_VARIABLE":
        return { integerVariable: count };
      case "INCREMENT_INTEGER_VARIABLE_AND_LOG":
        this.#note(idempotencyKey, "INCREMENT_correct");
        return { integerVariable: count };
      case "SET_STRING_DATA":
        return { data: "String" };
      case "LOG_DATA":
        if (variables.data === "String") this.#note(idempotencyKey, "DATA_correct");
        return {};
      case "CREATE_TIMESTAMP_LOG_1":
      case "CREATE_TIMESTAMP_LOG_2": {
        this.#notes.add({ kind: "from", name: word, at: this.#world.now() });
        await this.#pass(300);
        this.#notes.add({ kind: "to", name: word, at: this.#world.now() });
        return {};
      }
      case "WAIT_TEN_SECONDS":
        await this.#pass(10_000);
        return {};
      case "THROW_ERROR":
        throw new BpmnError("ERR_CODE");
      default:
        this.#note(idempotencyKey, word);
        return {};
    }
  }

  #note(key: string, word: string): void {
    this.#notes.add({ kind: "word", key, word });
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.clock.wakeAt(this.#world.now() + ms, resolve));
  }
}

/** Evaluates `test.contains("a")`, `integerVariable<2`, `true` and `3`. One model has an extra `>` at the end, which is ignored. */
export function evaluate(expression: Expression, variables: Variables): unknown {
  const text = expression.text.replace(/\)>$/, ")");
  if (text === "true" || text === "false") return text === "true";
  if (/^\d+$/.test(text)) return Number(text);
  const contains = /^(\w+)\.contains\("([^"]*)"\)$/.exec(text);
  if (contains !== null) return String(variables[contains[1] ?? ""] ?? "").includes(contains[2] ?? "");
  const compared = /^(\w+)\s*(<|>=)\s*(\d+)$/.exec(text);
  if (compared === null) throw new Error(`unknown expression of the suite: ${text}`);
  const value = Number(variables[compared[1] ?? ""]);
  return compared[2] === "<" ? value < Number(compared[3]) : value >= Number(compared[3]);
}

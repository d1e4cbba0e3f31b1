import { BpmnError, type Expression, type Job, type Variables } from "@pawl/bpmn";
import type { VirtualWorld } from "pawl/testing";

/** The models carry no code: a script is one word, a condition is plain text. Here they get the meaning that the suite gives them. */

/** Notes of what the scripts of one case did. */
export class Trace {
  /** By what each try of the same work has in common: work that a crash has undone is done again, and counts once. */
  readonly #entries = new Map<string, string>();
  readonly #intervals = new Map<string, readonly [number, number]>();
  readonly #world: VirtualWorld;
  #hasMarker = false;

  constructor(world: VirtualWorld) {
    this.#world = world;
  }

  /** All entries, with what can be told only at the end. The marker is looked for where a case asks for it. */
  all(asked: readonly string[]): readonly string[] {
    const [a, b] = ["CREATE_TIMESTAMP_LOG_1", "CREATE_TIMESTAMP_LOG_2"].map((name) => this.#intervals.get(name));
    const overlap = a !== undefined && b !== undefined && a[0] < b[1] && b[0] < a[1];
    const marker = this.#hasMarker && asked.includes("MARKER_exists");
    return [
      ...this.#entries.values(),
      ...(marker ? ["MARKER_exists"] : []),
      ...(overlap ? ["EXECUTION_parallel"] : []),
    ];
  }

  async script({ element, variables, idempotencyKey }: Job): Promise<Variables> {
    const word = "script" in element ? (element.script?.text.trim() ?? "") : "";
    const count = Number(variables.integerVariable ?? 0) + 1;
    switch (word) {
      case "CREATE_LOG_FILE":
        return {};
      case "CREATE_MARKER_FILE":
        this.#hasMarker = true;
        return {};
      case "INCREMENT_INTEGER_VARIABLE":
        return { integerVariable: count };
      case "INCREMENT_INTEGER_VARIABLE_AND_LOG":
        this.#entries.set(idempotencyKey, "INCREMENT_correct");
        return { integerVariable: count };
      case "SET_STRING_DATA":
        return { data: "String" };
      case "LOG_DATA":
        if (variables.data === "String") this.#entries.set(idempotencyKey, "DATA_correct");
        return {};
      case "CREATE_TIMESTAMP_LOG_1":
      case "CREATE_TIMESTAMP_LOG_2": {
        const from = this.#world.now();
        await this.#pass(300);
        if (!this.#intervals.has(word)) this.#intervals.set(word, [from, this.#world.now()]);
        return {};
      }
      case "WAIT_TEN_SECONDS":
        await this.#pass(10_000);
        return {};
      case "THROW_ERROR":
        throw new BpmnError("ERR_CODE");
      default:
        this.#entries.set(idempotencyKey, word);
        return {};
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.clock.wakeAt(this.#world.now() + ms, resolve));
  }
}

/** `test.contains("a")`, `integerVariable<2`, `true`, `3`. One model has a stray `>` at the end, which the suite's notes say to leave out. */
export function evaluate(expression: Expression, variables: Variables): unknown {
  const text = expression.text.replace(/\)>$/, ")");
  if (text === "true" || text === "false") return text === "true";
  if (/^\d+$/.test(text)) return Number(text);
  const contains = /^(\w+)\.contains\("([^"]*)"\)$/.exec(text);
  if (contains !== null) return String(variables[contains[1] ?? ""] ?? "").includes(contains[2] ?? "");
  const compared = /^(\w+)\s*(<|>=)\s*(\d+)$/.exec(text);
  if (compared === null) throw new Error(`the suite gives no meaning to ${text}`);
  const value = Number(variables[compared[1] ?? ""]);
  return compared[2] === "<" ? value < Number(compared[3]) : value >= Number(compared[3]);
}

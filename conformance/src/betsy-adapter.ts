import { BpmnError, createBpmn, type Expression, type Job, type Variables } from "@pawl/bpmn";
import { createEngine, PawlError, type RunHandle, type Store } from "pawl";
import { type VirtualWorld, virtualWorld } from "pawl/testing";
import type { BetsyCase } from "./betsy-suite.ts";

/** The models carry no code: a script is one word, a condition is plain text. Here they get the meaning that the suite gives them. */

/** Notes of what the scripts of one case did. */
class Trace {
  readonly entries: string[] = [];
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
    return [...this.entries, ...(marker ? ["MARKER_exists"] : []), ...(overlap ? ["EXECUTION_parallel"] : [])];
  }

  async script({ element, variables }: Job): Promise<Variables> {
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
        this.entries.push("INCREMENT_correct");
        return { integerVariable: count };
      case "SET_STRING_DATA":
        return { data: "String" };
      case "LOG_DATA":
        if (variables.data === "String") this.entries.push("DATA_correct");
        return {};
      case "CREATE_TIMESTAMP_LOG_1":
      case "CREATE_TIMESTAMP_LOG_2": {
        const from = this.#world.now();
        await this.#pass(300);
        this.#intervals.set(word, [from, this.#world.now()]);
        return {};
      }
      case "WAIT_TEN_SECONDS":
        await this.#pass(10_000);
        return {};
      case "THROW_ERROR":
        throw new BpmnError("ERR_CODE");
      default:
        this.entries.push(word);
        return {};
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.clock.wakeAt(this.#world.now() + ms, resolve));
  }
}

/** `test.contains("a")`, `integerVariable<2`, `true`, `3`. */
function evaluate({ text }: Expression, variables: Variables): unknown {
  if (text === "true" || text === "false") return text === "true";
  if (/^\d+$/.test(text)) return Number(text);
  const contains = /^(\w+)\.contains\("([^"]*)"\)$/.exec(text);
  if (contains !== null) return String(variables[contains[1] ?? ""] ?? "").includes(contains[2] ?? "");
  const compared = /^(\w+)\s*(<|>=)\s*(\d+)$/.exec(text);
  if (compared === null) throw new Error(`the suite gives no meaning to ${text}`);
  const value = Number(variables[compared[1] ?? ""]);
  return compared[2] === "<" ? value < Number(compared[3]) : value >= Number(compared[3]);
}

/** Longer than the longest timer of the suite. */
const PASSING = "70 s";

/** Runs one case and gives its trace, sorted. */
export async function runBetsyCase(xml: string, test: BetsyCase, store: Store): Promise<readonly string[]> {
  const world = virtualWorld();
  const trace = new Trace(world);
  const engine = await createEngine({ store, world, log: () => undefined });
  try {
    const tasks = { scriptTask: (job: Job) => trace.script(job) };
    const bpmn = await createBpmn({ engine, tasks, evaluate, retry: { tries: 1 } });
    try {
      await bpmn.deploy(xml);
    } catch (error) {
      if (error instanceof PawlError) return ["ERROR_deployment"];
      throw error;
    }
    if (test.startParallelProcessFirst) {
      await bpmn.start("ParallelProcess", test.variables, { id: "parallel" });
      await world.settle();
    }
    const run = await bpmn.start(test.processKey, test.variables, { id: "case" });
    await world.advance(PASSING);
    const { incidents } = await bpmn.view("case");
    const errors = incidents.length > 0 ? ["ERROR_runtime"] : await failure(run);
    return [...trace.all(test.assertions), ...errors].sort();
  } finally {
    await engine.shutdown({ drainMs: 0 });
  }
}

async function failure(run: RunHandle<Variables>): Promise<readonly string[]> {
  if ((await run.status()) !== "failed") return [];
  const error = await run.result().catch((reason: unknown) => reason);
  const cause = error instanceof Error ? error.cause : null;
  const isThrown = cause instanceof Error && "code" in cause && cause.code === "BPMN_ERROR";
  return [isThrown ? "ERROR_thrownErrorEvent" : "ERROR_runtime"];
}

/** Whether a trace is what a case expects: the same entries, in any order. */
export function isAsExpected(trace: readonly string[], { assertions }: BetsyCase): boolean {
  if (assertions.includes("ERROR")) return trace.includes("ERROR_deployment") || trace.includes("ERROR_runtime");
  return JSON.stringify(trace) === JSON.stringify([...assertions].sort());
}

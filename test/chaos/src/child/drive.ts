import { setTimeout as delay } from "node:timers/promises";
import type { AnyWorkflow, Engine } from "pawl";
import type { Action, CallAction, Scenario } from "../load/scenario.ts";
import type { ParentLink } from "./parent-link.ts";

/** How long a client waits before it requests a scenario again, or repeats a failed call. */
const RETRY_MS = 100;
/** Codes of errors after which the call may be repeated. A broken engine is reported separately. */
const RETRIED_CODES: ReadonlySet<string> = new Set([
  "STORE_UNAVAILABLE",
  "STORE_BUSY",
  "ENGINE_STOPPED",
  "ENGINE_BROKEN",
]);

/**
 * Executes scenarios. Each call is reported before and after it. A call with an unknown outcome is repeated with the same id.
 *
 * 1. The calls of a scenario are made one after the other, each after the answer to the previous one.
 */
export class Driver {
  readonly #engine: Engine;
  readonly #workflows: ReadonlyMap<string, AnyWorkflow>;
  readonly #link: ParentLink;
  #stopped = false;

  constructor(engine: Engine, workflows: readonly AnyWorkflow[], link: ParentLink) {
    this.#engine = engine;
    this.#workflows = new Map(workflows.map((each) => [each.name, each]));
    this.#link = link;
  }

  /** Executes up to `lanes` scenarios at a time until it is stopped. */
  start(lanes: number): void {
    for (let lane = 0; lane < lanes; lane += 1) void this.#lane();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #lane(): Promise<void> {
    while (!this.#stopped) {
      const scenario = await this.#link.next();
      if (scenario === null) await delay(RETRY_MS);
      else if (await this.#drive(scenario)) this.#link.driven(scenario.index);
    }
  }

  /** False if it was stopped before the end. */
  async #drive({ actions }: Scenario): Promise<boolean> {
    for (const action of actions) {
      while (!(await this.#tried(action))) {
        if (this.#stopped) return false;
        await delay(RETRY_MS);
      }
    }
    return true;
  }

  /** False if it failed with an unknown outcome. */
  async #tried(action: Action): Promise<boolean> {
    if (this.#stopped) return false;
    try {
      await this.#act(action);
      return true;
    } catch (error) {
      const { code, stack } = error as { readonly code?: unknown; readonly stack?: string };
      if (!RETRIED_CODES.has(String(code))) {
        this.#link.note({ kind: "broken", text: `${action.kind} threw: ${stack ?? String(error)}` });
      }
      return false;
    }
  }

  async #act(action: Action): Promise<void> {
    switch (action.kind) {
      case "pause":
        await delay(action.ms);
        return;
      case "await":
        await this.#awaited(action.run);
        return;
      case "start":
      case "send":
      case "emit":
      case "cancel":
        await this.#link.append({ kind: "sent", action });
        await this.#link.append({ kind: "acked", action, answer: await this.#call(action) });
        return;
    }
  }

  async #call(action: CallAction): Promise<string> {
    switch (action.kind) {
      case "start": {
        const workflow = this.#workflows.get(action.workflow);
        if (workflow === undefined) throw new Error(`workflow ${action.workflow} not found`);
        await this.#engine.start(workflow, action.input, { id: action.run });
        return "started";
      }
      case "send": {
        const options = { id: action.id, onTargetTerminated: "deadLetter" } as const;
        return (await this.#engine.send(action.to, action.name, { id: action.id }, options)).kind;
      }
      case "emit": {
        const options = { id: action.id, consume: action.consume };
        return (await this.#engine.emit(action.topic, { id: action.id }, options)).kind;
      }
      case "cancel":
        return (await this.#engine.cancel(action.run)) ? "cancelled" : "ended";
    }
  }

  async #awaited(run: string): Promise<void> {
    try {
      const output = await this.#engine.run(run).result();
      await this.#link.append({ kind: "result", run, status: "completed", output });
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code !== "RUN_CANCELLED" && code !== "RUN_FAILED") throw error;
      const status = code === "RUN_CANCELLED" ? "cancelled" : "failed";
      await this.#link.append({ kind: "result", run, status, output: null });
    }
  }
}

import type { EngineOptions } from "../engine/config.ts";
import { PawlError } from "../model/errors.ts";
import { kinds, optionTable, readOptions } from "../model/option-check.ts";
import { isTerminal, type OpenWait, type Status } from "../model/run.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { type HostedRun, hostedRun } from "./hosted-run.ts";
import { NAMESPACE_KINDS, type Namespace, type NamespaceOptions, namespaceOf, type OpenEngine } from "./namespace.ts";

export interface RunWorkflowOptions extends Omit<EngineOptions, "store" | "workflows" | "hotRuns" | "poll"> {
  /**
   * `yield` (default): executes the run until it waits for a time, a message or an event, then releases it.
   * `live`: keeps the run in memory until it has ended.
   */
  readonly mode?: "yield" | "live";
  /** Workflows that this workflow starts as children or by `continueAs`. They are executed in the same namespace. */
  readonly workflows?: readonly AnyWorkflow[];
}

/** The state of a run when `runWorkflow` releases it. */
export interface HostedResult<Output> {
  readonly state: Status;
  /** Undefined unless the run is completed. */
  readonly output: Output | undefined;
  /** The error of a failed or cancelled run, or the reason of a paused run. Otherwise null. */
  readonly error: Error | null;
  /** The time at which the host must execute the run again, in epoch ms. The driver's alarm has the same time. Null if there is none. */
  readonly sleepUntil: number | null;
  /** The open waits of the run. */
  readonly waitingFor: readonly OpenWait[];
}

/** A handle of a run that `runWorkflow` executes. */
export interface RunningWorkflow<Output> extends HostedRun<Output> {
  /** Resolves when the run has ended or was evicted; in mode `yield` also when the run waits. */
  readonly result: Promise<HostedResult<Output>>;
  /** Releases the run, so that it can be executed elsewhere. Running step bodies get `drainMs` to complete, 10 s by default. */
  evict(options?: { readonly drainMs?: number }): Promise<void>;
}

const { hotRuns: _hotRuns, ...KINDS } = NAMESPACE_KINDS;

const OPTIONS = optionTable<RunWorkflowOptions>("runWorkflow", { ...KINDS, mode: kinds.oneOf("yield", "live") });
const EVICT_OPTIONS = optionTable<{ readonly drainMs?: number }>("evict", {
  drainMs: kinds.number(0, Number.POSITIVE_INFINITY),
});

const DRAIN_MS = 10_000;

/**
 * Executes one workflow in a namespace of the host's storage: starts the run, or resumes it. The host calls it again when the driver's
 * alarm fires.
 *
 * ```ts
 * const run = runWorkflow("order-1", order, { cents: 499 }, driver);
 * const { state, sleepUntil } = await run.result;
 * ```
 */
export function runWorkflow<Input, Output>(
  id: string,
  workflow: Workflow<Input, Output>,
  input: Input,
  driver: KvDriver,
  options?: RunWorkflowOptions,
): RunningWorkflow<Output> {
  const { mode = "yield", workflows = [], ...rest } = readOptions(OPTIONS, options);
  const own = checkWorkflow(workflow as AnyWorkflow);
  const others = workflows.filter((each) => each !== workflow).map(checkWorkflow);
  const all = [own, ...others];
  const settings = { ...rest, workflows: all, ...(mode === "yield" ? { hotRuns: 0 } : {}) };
  const handle = hostedRun<Output>(id, driver, settings);
  const hosting = new Hosting<Input, Output>(id, workflow, namespaceOf(driver, id), mode, settings);
  const result = hosting.run(input);
  // The caller may ignore `result`, so its rejection must not be unhandled.
  result.catch(() => undefined);
  return {
    ...handle,
    result,
    async evict(given) {
      const { drainMs = DRAIN_MS } = readOptions(EVICT_OPTIONS, given);
      hosting.evict(drainMs);
      await result;
    },
  };
}

/** Executes a run until it is done or evicted. */
class Hosting<Input, Output> {
  readonly #id: string;
  readonly #workflow: Workflow<Input, Output>;
  readonly #namespace: Namespace;
  readonly #mode: "yield" | "live";
  readonly #options: NamespaceOptions;
  readonly #known: ReadonlySet<string>;
  /** Wakes the loop of `#untilDone`. */
  #wake: () => void = () => undefined;
  #evicted: { readonly drainMs: number } | null = null;
  #broken: { readonly error: unknown } | null = null;

  constructor(
    id: string,
    workflow: Workflow<Input, Output>,
    namespace: Namespace,
    mode: "yield" | "live",
    options: NamespaceOptions,
  ) {
    this.#id = id;
    this.#workflow = workflow;
    this.#namespace = namespace;
    this.#mode = mode;
    this.#options = options;
    this.#known = new Set(options.workflows?.map(workflowKey));
  }

  evict(drainMs: number): void {
    this.#evicted ??= { drainMs };
    this.#wake();
  }

  async run(input: Input): Promise<HostedResult<Output>> {
    const opened = await this.#namespace.open(this.#options, async (fresh) => {
      this.#watch(fresh);
      await this.#start(fresh, input);
    });
    try {
      await this.#untilDone(opened);
    } finally {
      await this.#namespace.close(opened, this.#evicted?.drainMs ?? 0);
    }
    return await this.#resultOf(opened);
  }

  #watch({ engine, store }: OpenEngine): void {
    const broken = (error: unknown): void => {
      this.#broken ??= { error };
      this.#wake();
    };
    engine.on("store.down", ({ error }) => broken(error));
    engine.on("engine.broken", ({ error }) => broken(error));
    store.onWritten(() => this.#wake());
  }

  /** Starts the run, unless it exists. An existing run keeps its input. */
  async #start({ engine }: OpenEngine, input: Input): Promise<void> {
    const run = await engine.get(this.#id);
    if (run === null) {
      await engine.start(this.#workflow, input, { id: this.#id });
    } else if (run.workflow !== this.#workflow.name && run.generation === 0) {
      const message = `the namespace contains run ${this.#id} of workflow ${run.workflow}; no run was started`;
      throw new PawlError("RUN_EXISTS", message);
    }
  }

  async #untilDone(opened: OpenEngine): Promise<void> {
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#broken !== null) throw this.#broken.error;
      if (this.#evicted !== null || (await this.#isDone(opened))) return;
      await changed;
    }
  }

  async #isDone({ engine, store }: OpenEngine): Promise<boolean> {
    if (!(await store.isIdle((workflow) => this.#known.has(workflowKey(workflow))))) return false;
    if (this.#mode === "yield") return true;
    const status = (await engine.get(this.#id))?.status ?? "pending";
    return isTerminal(status) || status === "paused";
  }

  async #resultOf({ engine, store }: OpenEngine): Promise<HostedResult<Output>> {
    const run = await engine.get(this.#id);
    if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${this.#id} was removed from the namespace`);
    return {
      state: run.status,
      output: run.status === "completed" ? (run.output as Output) : undefined,
      error: run.error,
      sleepUntil: await store.nextWakeAt(),
      waitingFor: run.wait?.open ?? [],
    };
  }
}

import type { EngineOptions } from "../engine/config.ts";
import { PawlError } from "../model/errors.ts";
import { isTerminal, type OpenWait, type Status } from "../model/run.ts";
import { workflowKey } from "../model/workflow-ref.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { type HostedRun, hostedRun } from "./hosted-run.ts";
import { type Namespace, type NamespaceOptions, namespaceOf, type Opened } from "./namespace.ts";

export interface RunWorkflowOptions extends Omit<EngineOptions, "store" | "workflows" | "hotRuns" | "poll"> {
  /**
   * `yield` (default): runs until there is nothing to do without time passing or something coming, and lets go of everything.
   * `live`: stays until the run has ended.
   */
  readonly mode?: "yield" | "live";
  /** Workflows that this one starts, as children or by `continueAs`. They run in the same namespace. */
  readonly workflows?: readonly AnyWorkflow[];
}

/** Where a run is when `runWorkflow` lets go of it. */
export interface HostedResult<Output> {
  readonly state: Status;
  /** Of a completed run. */
  readonly output: Output | undefined;
  /** Of a failed or cancelled run; of a paused one, why it is. */
  readonly error: Error | null;
  /** When the host has to run it again, epoch ms, unless something is sent before; the driver's alarm says the same. */
  readonly sleepUntil: number | null;
  /** What it waits for. */
  readonly waitingFor: readonly OpenWait[];
}

/** A run that is at work, or was until it let go. */
export interface RunningWorkflow<Output> extends HostedRun<Output> {
  /** Resolves when the run has ended; in mode `yield`, when it waits; and when it was evicted. */
  readonly result: Promise<HostedResult<Output>>;
  /** Lets go of it, so that it can be run elsewhere. Step bodies that are under way may end within `drainMs`, 10 s by default. */
  evict(options?: { readonly drainMs?: number }): Promise<void>;
}

const DRAIN_MS = 10_000;

/**
 * Runs one workflow in a namespace of the host's own storage: starts it, or goes on with it where it was. The host calls it
 * again when the driver's alarm comes.
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
  options: RunWorkflowOptions = {},
): RunningWorkflow<Output> {
  const { mode = "yield", workflows = [], ...rest } = options;
  if (mode !== "yield" && mode !== "live") {
    throw new PawlError("OPTION_INVALID", `mode is ${String(mode)}; it has to be yield or live`);
  }
  const all = [workflow as AnyWorkflow, ...workflows.filter((each) => each !== workflow)];
  const settings = { ...rest, workflows: all, ...(mode === "yield" ? { hotRuns: 0 } : {}) };
  const handle = hostedRun<Output>(id, driver, settings);
  const hosting = new Hosting<Input, Output>(id, workflow, namespaceOf(driver, id), mode, settings);
  const result = hosting.run(input);
  // Whoever asks for the result hears of its failure; nobody has to ask.
  result.catch(() => undefined);
  return {
    ...handle,
    result,
    async evict({ drainMs = DRAIN_MS } = {}) {
      hosting.evict(drainMs);
      await result;
    },
  };
}

/** One stay of a run in memory. */
class Hosting<Input, Output> {
  readonly #id: string;
  readonly #workflow: Workflow<Input, Output>;
  readonly #namespace: Namespace;
  readonly #mode: "yield" | "live";
  readonly #options: NamespaceOptions;
  readonly #known: ReadonlySet<string>;
  /** Asks whoever waits for the end of the work to look again. */
  #look: () => void = () => undefined;
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
    this.#look();
  }

  async run(input: Input): Promise<HostedResult<Output>> {
    const opened = await this.#namespace.open(this.#options, async (fresh) => {
      this.#watch(fresh);
      await this.#begin(fresh, input);
    });
    try {
      await this.#untilOver(opened);
    } finally {
      await this.#namespace.close(opened, this.#evicted?.drainMs ?? 0);
    }
    return await this.#resultOf(opened);
  }

  #watch({ engine, store }: Opened): void {
    const broken = (error: unknown): void => {
      this.#broken ??= { error };
      this.#look();
    };
    engine.on("store.down", ({ error }) => broken(error));
    engine.on("engine.broken", ({ error }) => broken(error));
    store.onWritten(() => this.#look());
  }

  /** What a run was started with it keeps: its input is not looked at when it is there already. */
  async #begin({ engine }: Opened, input: Input): Promise<void> {
    const run = await engine.get(this.#id);
    if (run === null) {
      await engine.start(this.#workflow, input, { id: this.#id });
    } else if (run.workflow !== this.#workflow.name && run.generation === 0) {
      const message = `the namespace holds run ${this.#id} of workflow ${run.workflow}; nothing was started`;
      throw new PawlError("RUN_EXISTS", message);
    }
  }

  async #untilOver(opened: Opened): Promise<void> {
    for (;;) {
      const looked = new Promise<void>((resolve) => {
        this.#look = resolve;
      });
      if (this.#broken !== null) throw this.#broken.error;
      if (this.#evicted !== null || (await this.#isOver(opened))) return;
      await looked;
    }
  }

  async #isOver({ engine, store }: Opened): Promise<boolean> {
    if (!(await store.isIdle((workflow) => this.#known.has(workflowKey(workflow))))) return false;
    if (this.#mode === "yield") return true;
    const status = (await engine.get(this.#id))?.status ?? "pending";
    return isTerminal(status) || status === "paused";
  }

  async #resultOf({ engine, store }: Opened): Promise<HostedResult<Output>> {
    const run = await engine.get(this.#id);
    if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${this.#id} is not there any more`);
    return {
      state: run.status,
      output: run.status === "completed" ? (run.output as Output) : undefined,
      error: run.error,
      sleepUntil: await store.lookAt(),
      waitingFor: run.wait?.open ?? [],
    };
  }
}

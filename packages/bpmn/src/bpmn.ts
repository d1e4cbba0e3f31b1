import {
  type AnyWorkflow,
  type Duration,
  type EmitOutcome,
  type Engine,
  type Page,
  PawlError,
  type RunHandle,
  type RunSummary,
  type SendOutcome,
} from "pawl";
import { RETRY_DEFAULT } from "./definition/extensions.ts";
import type { Graph } from "./definition/read-graph.ts";
import { Definitions, type Deployed, type DeployOptions, type Version } from "./deployment/definitions.ts";
import type { Deployment, DeploymentView } from "./deployment/deployments.ts";
import { conditionalStart, type StartProcessOptions, startRequest } from "./deployment/start-process.ts";
import { type Evaluate, evaluateExpression, flawOf } from "./expressions.ts";
import type { Forms } from "./human/forms.ts";
import { type HumanTasks, humanTasks } from "./human/human-tasks.ts";
import type { Variables } from "./machine/state.ts";
import type { RetrySetting } from "./model/process.ts";
import { type MigrateRunsOptions, migrateRuns, type RunMigrationReport } from "./operations/migrate-runs.ts";
import { ProcessOperations } from "./operations/process-operations.ts";
import { type ProcessView, viewOf } from "./operations/process-view.ts";
import type { Handlers, TypeHandlers } from "./program/handlers.ts";
import { SIGNAL_TTL } from "./program/outgoing-messages.ts";
import {
  businessKeyTag,
  type MessageValue,
  messageStartTopic,
  messageTopic,
  signalTopic,
  taskMessage,
} from "./program/topics.ts";

export interface BpmnOptions {
  /** The engine that executes the processes. */
  readonly engine: Engine;
  /** Handlers by the name in the element, or by element id. */
  readonly handlers?: Handlers;
  /** Handlers for all tasks of a type that have no handler by name. */
  readonly tasks?: TypeHandlers;
  /** Evaluates expressions. Must be pure. Default: FEEL. */
  readonly evaluate?: Evaluate;
  /** Retry policy of handlers, unless the model sets one. Default: 3 attempts, exponential backoff from 1 s to 1 min. */
  readonly retry?: Partial<RetrySetting>;
  /** Code workflows that call activities can start. */
  readonly workflows?: readonly AnyWorkflow[];
  /** JSON schemas of forms that models refer to by id. Completed tasks are checked against them. */
  readonly forms?: Forms;
  /** The current time for human tasks, in epoch milliseconds. Default: the system clock. */
  readonly now?: () => number;
  /** Number of records between snapshots of a run. Default 100. */
  readonly snapshotEvery?: number;
}

export interface FindQuery {
  readonly businessKey?: string;
  readonly process?: string;
  readonly status?: ReadonlyArray<RunSummary["status"]>;
  /** Default 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

export interface PublishOptions {
  /** The correlation key of the instance that receives the message. */
  readonly key?: string;
  readonly variables?: Variables;
  /** A message with the same id is sent once. */
  readonly id?: string;
  /** How long the message is kept until an instance receives it. Default 1 hour. */
  readonly ttl?: Duration;
}

const TTL = "1 hour";

/** Loads the deployed processes from the engine's store and registers their workflows with the engine. */
export async function createBpmn(options: BpmnOptions): Promise<Bpmn> {
  const bpmn = new Bpmn(options);
  await bpmn.open();
  return bpmn;
}

/** Deploys models, starts processes, and operates their runs. */
export class Bpmn {
  /** Operator actions on process runs. */
  readonly operate: ProcessOperations;
  /** Human tasks. */
  readonly tasks: HumanTasks;
  readonly #engine: Engine;
  readonly #definitions: Definitions;
  readonly #evaluate: Evaluate;

  /** Use `createBpmn`. */
  constructor(options: BpmnOptions) {
    const { engine, handlers = {}, tasks = {}, evaluate = evaluateExpression, snapshotEvery = 100 } = options;
    if (!Number.isSafeInteger(snapshotEvery) || snapshotEvery < 1) {
      throw new PawlError("OPTION_INVALID", `snapshotEvery must be a whole number above 0; got ${snapshotEvery}`);
    }
    const retry = { ...RETRY_DEFAULT, ...options.retry };
    this.#engine = engine;
    this.#evaluate = evaluate;
    const flaw = evaluate === evaluateExpression ? flawOf : () => null;
    const parts = { table: { handlers, tasks }, retry, evaluate, snapshotEvery, flawOf: flaw };
    this.operate = new ProcessOperations(engine, (runId) => this.view(runId));
    this.tasks = humanTasks({
      engine,
      ...(options.forms && { forms: options.forms }),
      ...(options.now && { now: options.now }),
    });
    this.#definitions = new Definitions(engine, parts, options.workflows ?? []);
  }

  async open(): Promise<void> {
    await this.#definitions.open();
  }

  /**
   * Deploys every executable process of a BPMN document, or a graph in JSON. A process whose latest version has the same model
   * keeps that version. Runs stay on the version that they were started with.
   */
  async deploy(source: string | Uint8Array | Graph, options: DeployOptions = {}): Promise<readonly Deployed[]> {
    return await this.#definitions.deploy(source, options);
  }

  /** The versions of a process, oldest first. */
  async deployments(process: string): Promise<readonly DeploymentView[]> {
    return await this.#definitions.deployments.list(process);
  }

  /** Publishes a draft or a deprecated version. */
  async publishVersion(process: string, version: number, options: { readonly by?: string } = {}): Promise<Deployment> {
    return await this.#definitions.change(process, version, "published", options.by ?? null);
  }

  /** Deprecates a version: it can be started only by its version number. Its runs continue. */
  async deprecateVersion(
    process: string,
    version: number,
    options: { readonly by?: string } = {},
  ): Promise<Deployment> {
    return await this.#definitions.change(process, version, "deprecated", options.by ?? null);
  }

  /** Archives a draft or a deprecated version: it cannot be started again. Its runs continue. */
  async archiveVersion(process: string, version: number, options: { readonly by?: string } = {}): Promise<Deployment> {
    return await this.#definitions.change(process, version, "archived", options.by ?? null);
  }

  /** Migrates runs to another version of their process. With `dryRun`, only reports the problems of each run. */
  async migrate(
    runIds: readonly string[],
    version: number,
    options: MigrateRunsOptions = {},
  ): Promise<RunMigrationReport> {
    const parts = { engine: this.#engine, definitions: this.#definitions, evaluate: this.#evaluate };
    return await migrateRuns(parts, runIds, version, options);
  }

  /** Loads versions that other processes have deployed since. */
  async refresh(): Promise<void> {
    await this.#definitions.refresh();
  }

  /**
   * Starts an instance of a process. Resolves when it is durable. A process without a plain start event starts if the variables
   * meet the condition of a conditional start event.
   */
  async start(
    process: string,
    variables: Variables = {},
    options: StartProcessOptions = {},
  ): Promise<RunHandle<Variables>> {
    const found = await this.#definitions.startable(process, options.version ?? null);
    const isPlain = (found.process.scopes.get(process)?.starts.length ?? 0) > 0;
    const element = isPlain ? null : conditionalStart(found.process, this.#evaluate, variables);
    if (!isPlain && element === null) {
      throw new PawlError(
        "PROCESS_STATE",
        `process ${process} has no plain start event and no start condition is met; publish its start message, or pass variables that meet a condition`,
      );
    }
    return await this.#begin(found, variables, element, options);
  }

  /** Starts an instance of every process whose latest version has a conditional start event that the variables meet. */
  async startByCondition(
    variables: Variables,
    options: Pick<StartProcessOptions, "tags" | "businessKey"> = {},
  ): Promise<ReadonlyArray<RunHandle<Variables>>> {
    const begun: RunHandle<Variables>[] = [];
    for (const found of await this.#definitions.latest()) {
      const element = conditionalStart(found.process, this.#evaluate, variables);
      if (element !== null) begun.push(await this.#begin(found, variables, element, options));
    }
    return begun;
  }

  async #begin(
    { process, workflow }: Version,
    variables: Variables,
    element: string | null,
    given: StartProcessOptions,
  ): Promise<RunHandle<Variables>> {
    const startedBy = element === null ? null : { element, variables: {} };
    const { input, options } = startRequest(process, { variables, startedBy }, given);
    return await this.#engine.start(workflow, input, options);
  }

  /** Lists instances, newest first. A business key also finds the instances that were called with it. */
  async find(query: FindQuery = {}): Promise<Page<RunSummary>> {
    const { businessKey, process, ...rest } = query;
    return await this.#engine.list({
      ...rest,
      ...(businessKey !== undefined && { tag: businessKeyTag(businessKey) }),
      ...(process !== undefined && { workflow: process }),
    });
  }

  /**
   * Sends a message: it starts instances of definitions with that start message, and the instance that waits for it receives it,
   * now or before it expires.
   */
  async publish(name: string, options: PublishOptions = {}): Promise<EmitOutcome> {
    const { key = "", variables = {}, id, ttl = TTL } = options;
    const value: MessageValue = { variables, from: null };
    const kept = { deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
    const started = await this.#engine.emit(messageStartTopic(name), value, {
      ...kept,
      ...(id !== undefined && { id: `${id} start` }),
    });
    // An instance that this message started must not receive it again.
    const deliver = started.kind === "delivered" ? "afterCreate" : "all";
    const one = { deliver, consume: "one", expireAfter: ttl, ...(id !== undefined && { id }) } as const;
    const outcome = await this.#engine.emit(messageTopic(name, key), value, one);
    return started.kind === "delivered" ? started : outcome;
  }

  /** Sends a signal to all runs that wait for it. */
  async signal(name: string, variables: Variables = {}, options: { readonly id?: string } = {}): Promise<EmitOutcome> {
    const value: MessageValue = { variables, from: null };
    const kept = { deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
    return await this.#engine.emit(signalTopic(name), value, { ...kept, ...options });
  }

  /** Completes the human task at a location of a run. `view` lists the locations. */
  async completeTask(runId: string, location: string, variables: Variables = {}): Promise<SendOutcome> {
    const { tasks } = await this.view(runId);
    if (!tasks.some((task) => task.location === location)) {
      throw new PawlError("PROCESS_STATE", `run ${runId} has no open task at ${location}`);
    }
    return await this.#engine.send(runId, taskMessage(location), { variables }, { id: `complete ${location}` });
  }

  /** The current state of a run: active elements, tasks, incidents and variables. */
  async view(runId: string): Promise<ProcessView> {
    const run = await this.#engine.get(runId);
    if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${runId} not found`);
    if (run.unreadable !== null && run.input === undefined) throw run.unreadable;
    const { process } = await this.#definitions.version(run.workflow, run.version);
    return viewOf(process, this.#evaluate, run, await this.#engine.run(runId).sinceSnapshot());
  }
}

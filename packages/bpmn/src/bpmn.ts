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
import type { Deployment } from "./deployment/deployments.ts";
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
  /** Runs the processes. */
  readonly engine: Engine;
  /** Handlers by the name that elements give them, or by the element's id. */
  readonly handlers?: Handlers;
  /** Handlers for all tasks of a type that have none by name. */
  readonly tasks?: TypeHandlers;
  /** Computes expressions; it has to be pure. Default: FEEL. */
  readonly evaluate?: Evaluate;
  /** How a failing handler is tried again, where the model does not say. */
  readonly retry?: Partial<RetrySetting>;
  /** Workflows that are code and that call activities may name. */
  readonly workflows?: readonly AnyWorkflow[];
  /** JSON schemas of forms that models know by an id: what is filled in is checked against them. */
  readonly forms?: Forms;
  /** The present, for what humans do. Default: the machine's clock. */
  readonly now?: () => number;
  /** A snapshot of a run is kept after so many records. Default 100. */
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
  /** Finds the one instance that waits for it. */
  readonly key?: string;
  readonly variables?: Variables;
  /** The same id again is a duplicate. */
  readonly id?: string;
  /** How long it waits for an instance. Default 1 hour. */
  readonly ttl?: Duration;
}

const TTL = "1 hour";

/** Reads what is deployed in the engine's store, and lets the engine work on it. */
export async function createBpmn(options: BpmnOptions): Promise<Bpmn> {
  const bpmn = new Bpmn(options);
  await bpmn.open();
  return bpmn;
}

/** Deploys models, starts processes, and operates their runs. */
export class Bpmn {
  /** Corrects runs from outside. */
  readonly operate: ProcessOperations;
  /** What humans do. */
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
   * Deploys every executable process of a BPMN document, or a graph in JSON. A model that is the latest version already stays
   * that; a run stays on the version that it was started with.
   */
  async deploy(source: string | Uint8Array | Graph, options: DeployOptions = {}): Promise<readonly Deployed[]> {
    return await this.#definitions.deploy(source, options);
  }

  /** The versions of a process, oldest first, with their states. */
  async deployments(process: string): Promise<readonly Deployment[]> {
    return await this.#definitions.deployments.list(process);
  }

  /** Lets a draft, or a deprecated version, be started. */
  async publishVersion(process: string, version: number, options: { readonly by?: string } = {}): Promise<Deployment> {
    return await this.#definitions.change(process, version, "published", options.by ?? null);
  }

  /** Has a version started no more, but by its number. Its runs go on. */
  async deprecateVersion(
    process: string,
    version: number,
    options: { readonly by?: string } = {},
  ): Promise<Deployment> {
    return await this.#definitions.change(process, version, "deprecated", options.by ?? null);
  }

  /** Has a draft, or a deprecated version, never started any more. Its runs go on. */
  async archiveVersion(process: string, version: number, options: { readonly by?: string } = {}): Promise<Deployment> {
    return await this.#definitions.change(process, version, "archived", options.by ?? null);
  }

  /** Moves runs to another version of their process, or with `dryRun` says of each what is in the way. */
  async migrate(
    runIds: readonly string[],
    version: number,
    options: MigrateRunsOptions = {},
  ): Promise<RunMigrationReport> {
    const parts = { engine: this.#engine, definitions: this.#definitions, evaluate: this.#evaluate };
    return await migrateRuns(parts, runIds, version, options);
  }

  /** Reads what others have deployed since, and works on it too. */
  async refresh(): Promise<void> {
    await this.#definitions.refresh();
  }

  /**
   * Starts an instance of a process. Resolves when it is durable. A process that begins with a condition alone is started if
   * the variables meet it.
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

  /** Begins an instance of every process, in its latest version, that has a start event whose condition these variables meet. */
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

  /** Instances, newest first; those of a business key, with the instances that they have called. */
  async find(query: FindQuery = {}): Promise<Page<RunSummary>> {
    const { businessKey, process, ...rest } = query;
    return await this.#engine.list({
      ...rest,
      ...(businessKey !== undefined && { tag: businessKeyTag(businessKey) }),
      ...(process !== undefined && { workflow: process }),
    });
  }

  /** A message, to the definitions that begin with it and to the one instance that waits for it, or will within its time. */
  async publish(name: string, options: PublishOptions = {}): Promise<EmitOutcome> {
    const { key = "", variables = {}, id, ttl = TTL } = options;
    const value: MessageValue = { variables, from: null };
    const kept = { deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
    const started = await this.#engine.emit(messageStartTopic(name), value, {
      ...kept,
      ...(id !== undefined && { id: `${id} start` }),
    });
    // What has begun an instance is kept for others, not for that one.
    const deliver = started.kind === "delivered" ? "afterCreate" : "all";
    const one = { deliver, consume: "one", expireAfter: ttl, ...(id !== undefined && { id }) } as const;
    const outcome = await this.#engine.emit(messageTopic(name, key), value, one);
    return started.kind === "delivered" ? started : outcome;
  }

  /** A signal, to all who wait for it. */
  async signal(name: string, variables: Variables = {}, options: { readonly id?: string } = {}): Promise<EmitOutcome> {
    const value: MessageValue = { variables, from: null };
    const kept = { deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
    return await this.#engine.emit(signalTopic(name), value, { ...kept, ...options });
  }

  /** Completes the task that waits at a location of a run; `view` tells where they are. */
  async completeTask(runId: string, location: string, variables: Variables = {}): Promise<SendOutcome> {
    const { tasks } = await this.view(runId);
    if (!tasks.some((task) => task.location === location)) {
      throw new PawlError("PROCESS_STATE", `run ${runId} has no open task at ${location}`);
    }
    return await this.#engine.send(runId, taskMessage(location), { variables }, { id: `complete ${location}` });
  }

  /** Where a run is: its active elements, tasks, incidents and variables. */
  async view(runId: string): Promise<ProcessView> {
    const run = await this.#engine.get(runId);
    if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${runId} not found`);
    const { process } = await this.#definitions.version(run.workflow, run.version);
    return viewOf(process, this.#evaluate, run, await this.#engine.run(runId).sinceSnapshot());
  }
}

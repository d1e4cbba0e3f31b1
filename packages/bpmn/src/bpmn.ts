import {
  type AnyWorkflow,
  type Duration,
  type EmitOutcome,
  type Engine,
  kinds,
  type OptionKind,
  openTable,
  optionTable,
  type Page,
  PawlError,
  type RunHandle,
  type RunSummary,
  readArgument,
  readOptions,
  type SendOutcome,
} from "pawl";
import { RETRY_DEFAULT } from "./definition/extensions.ts";
import { NODE_TYPES } from "./definition/graph-elements.ts";
import type { Graph } from "./definition/read-graph.ts";
import {
  DEPLOY_OPTIONS,
  Definitions,
  type Deployed,
  type DeployOptions,
  type Version,
} from "./deployment/definitions.ts";
import {
  DEPLOY_FILES_OPTIONS,
  type DeployedFiles,
  type DeployFilesOptions,
  deployFiles,
  FILES,
} from "./deployment/deploy-files.ts";
import type { Deployment, DeploymentState, DeploymentView } from "./deployment/deployments.ts";
import type { ResourceFile } from "./deployment/read-resource.ts";
import { type Resource, Resources, type ResourceType } from "./deployment/resources.ts";
import {
  checkedInput,
  chosenStart,
  conditionalStart,
  START_OPTIONS,
  type StartProcessOptions,
  startFormId,
  startRequest,
} from "./deployment/start-process.ts";
import {
  PROCESS_EVENT_NAMES,
  type ProcessEventKind,
  type ProcessEventOf,
  ProcessEvents,
} from "./events/process-events.ts";
import { type Evaluate, evaluateExpression, flawOf } from "./expressions.ts";
import { historyOf, type ProcessHistory } from "./history/process-history.ts";
import { recordsUpTo } from "./history/records-up-to.ts";
import { schemaOfForm } from "./human/camunda-form.ts";
import { FORMS, type Forms } from "./human/forms.ts";
import { type HumanTasks, observedTasks } from "./human/human-tasks.ts";
import type { Variables } from "./machine/state.ts";
import type { Process, RetrySetting } from "./model/process.ts";
import { explainProcess, type ProcessExplanation } from "./operations/explain-process.ts";
import { FIND_QUERY, type FindQuery, findRuns } from "./operations/find-runs.ts";
import {
  MIGRATE_OPTIONS,
  type MigrateRunsOptions,
  migrateRuns,
  type RunMigrationReport,
} from "./operations/migrate-runs.ts";
import { ProcessOperations } from "./operations/process-operations.ts";
import { type ProcessView, viewOf } from "./operations/process-view.ts";
import type { Handlers, NodeTypes, TypeHandlers } from "./program/handlers.ts";
import { SIGNAL_TTL } from "./program/outgoing-messages.ts";
import { type ProcessEngine, workerOf } from "./program/process-engine.ts";
import { type MessageValue, messageStartTopic, messageTopic, signalTopic, taskMessage } from "./program/topics.ts";
import { systemNow } from "./runtime/system.ts";

export interface BpmnOptions {
  /** The engine that executes the processes. With a client, `createBpmn` does everything but execute: it deploys, starts, reads and operates. */
  readonly engine: Engine | ProcessEngine;
  /** Handlers by the name in the element, or by element id. */
  readonly handlers?: Handlers;
  /** Handlers for all tasks of a type that have no handler by name. */
  readonly tasks?: TypeHandlers;
  /** Handlers of the node types that JSON graphs may use besides those of BPMN, such as `slack`. */
  readonly nodeTypes?: NodeTypes;
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
  /** Whether there is also a snapshot whenever tokens join at a gateway. Costs a write of the whole state each time. Default false. */
  readonly snapshotAtJoins?: boolean;
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

/** One version of a decision model or a form. */
export type ResourceView = Pick<Resource, "version" | "versionTag" | "hash" | "deployedAt">;

/** The time of a view. */
export interface AtOption {
  /** The seq of a record. 0 is the start of the run. Default: the newest one. */
  readonly at?: number;
}

/** Who changes a version. */
interface ByOption {
  readonly by?: string;
}

const ATTEMPTS_MAX = 1_000_000;
const ENGINE_METHODS = ["start", "send", "emit", "get", "list", "run", "restart"];

const BPMN_OPTIONS = optionTable<BpmnOptions>("createBpmn", {
  engine: kinds.required(kinds.withMethods("an engine", ...ENGINE_METHODS)),
  handlers: kinds.map(kinds.callback),
  tasks: kinds.map(kinds.callback),
  nodeTypes: kinds.map(kinds.callback),
  evaluate: kinds.callback,
  retry: kinds.options(
    optionTable<Partial<RetrySetting>>("retry", {
      maxAttempts: kinds.integer(1, ATTEMPTS_MAX),
      backoff: kinds.oneOf("exponential", "linear", "fixed"),
      initialMs: kinds.integer(0),
      maxMs: kinds.integer(0),
      jitter: kinds.number(0, 1),
    }),
  ),
  workflows: kinds.list(
    kinds.options(
      openTable<Pick<AnyWorkflow, "name" | "version">>("the workflow", {
        name: kinds.required(kinds.name),
        version: kinds.required(kinds.integer(1)),
      }),
    ),
  ) as OptionKind<never>,
  forms: FORMS,
  now: kinds.callback,
  snapshotEvery: kinds.integer(1),
  snapshotAtJoins: kinds.flag,
});
const RESOURCE_TYPE = kinds.oneOf("decisions", "form");
const AT_OPTION = optionTable<AtOption>("the call", { at: kinds.integer(0) });
const BY_OPTION = optionTable<ByOption>("the call", { by: kinds.text });
const CONDITION_OPTIONS = optionTable<Pick<StartProcessOptions, "tags" | "businessKey">>("startByCondition", {
  tags: kinds.tags,
  businessKey: kinds.text,
});
const PUBLISH_OPTIONS = optionTable<PublishOptions>("publish", {
  key: kinds.text,
  variables: kinds.variables,
  id: kinds.name,
  ttl: kinds.duration,
});
const SIGNAL_OPTIONS = optionTable<{ readonly id?: string }>("signal", { id: kinds.name });
const VERSION = kinds.integer(1);
const VARIABLES = kinds.optional(kinds.variables);
const EVENT_KIND = kinds.required(kinds.oneOf(...PROCESS_EVENT_NAMES));
const RUN_IDS = kinds.list(kinds.runId);

const TTL = "1 hour";

/** A node type of BPMN cannot have another meaning. */
function checkNodeTypes(nodeTypes: NodeTypes): void {
  const taken = Object.keys(nodeTypes).find((type) => NODE_TYPES.includes(type));
  if (taken === undefined) return;
  throw new PawlError("OPTION_INVALID", `nodeTypes: ${taken} is a node type of BPMN; choose another name`);
}

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
  readonly #engine: ProcessEngine;
  readonly #definitions: Definitions;
  readonly #evaluate: Evaluate;
  readonly #events: ProcessEvents;
  readonly #forms: Forms;
  readonly #resources: Resources;

  /** Use `createBpmn`. */
  constructor(given: BpmnOptions) {
    const options = readOptions(BPMN_OPTIONS, given);
    const {
      engine,
      handlers = {},
      tasks = {},
      nodeTypes = {},
      evaluate = evaluateExpression,
      snapshotEvery = 100,
      snapshotAtJoins = false,
    } = options;
    const retry = { ...RETRY_DEFAULT, ...options.retry };
    this.#engine = engine;
    this.#evaluate = evaluate;
    this.#forms = options.forms ?? {};
    const flaw = evaluate === evaluateExpression ? flawOf : () => null;
    checkNodeTypes(nodeTypes);
    this.operate = new ProcessOperations(engine, {
      view: (runId) => this.view(runId),
      history: (runId) => this.history(runId),
    });
    this.#events = new ProcessEvents(workerOf(engine));
    const ofTasks = {
      engine,
      ...(options.forms && { forms: options.forms }),
      ...(options.now && { now: options.now }),
    };
    this.tasks = observedTasks(ofTasks, (task, action) => this.#events.onTaskAction(task, action));
    const table = { handlers, tasks, nodeTypes };
    const parts = { table, retry, evaluate, snapshotEvery, snapshotAtJoins, flawOf: flaw, events: this.#events };
    this.#resources = new Resources(engine.documents, options.now ?? systemNow);
    this.#definitions = new Definitions(engine, parts, options.workflows ?? [], this.#resources);
  }

  async open(): Promise<void> {
    await this.#definitions.open();
  }

  /**
   * Calls `listener` for each event of a kind, in runs that this engine executes and for tasks that `tasks` changes. Returns a function
   * that ends it. A listener only observes: the journal is the truth, and a crash may repeat or lose an event.
   */
  on<Kind extends ProcessEventKind>(kind: Kind, listener: (event: ProcessEventOf<Kind>) => void): () => void {
    readArgument(EVENT_KIND, kind, "kind");
    if (workerOf(this.#engine) === null)
      throw new PawlError(
        "OPTION_INVALID",
        "a client executes no runs and emits no events; listen where the engine is",
      );
    return this.#events.on(kind, readArgument(kinds.required(kinds.callback), listener, "listener"));
  }

  /**
   * Deploys every executable process of a BPMN document, or a graph in JSON. A process whose latest version has the same model
   * keeps that version. Runs stay on the version that they were started with.
   */
  async deploy(source: string | Uint8Array | Graph, options?: DeployOptions): Promise<readonly Deployed[]> {
    return await this.#definitions.deploy(source, readOptions(DEPLOY_OPTIONS, options));
  }

  /**
   * Deploys files together: BPMN documents, graphs, DMN documents and forms. Nothing is deployed if one of them has problems. Each decision
   * model and form has its own versions; unchanged content keeps its version. A name is read from disk, or by `resolve`.
   */
  async deployFiles(
    files: readonly (string | ResourceFile)[],
    deployOptions?: DeployFilesOptions,
  ): Promise<DeployedFiles> {
    readArgument(FILES, files, "files");
    const options = readOptions(DEPLOY_FILES_OPTIONS, deployOptions);
    return await deployFiles({ definitions: this.#definitions, resources: this.#resources }, files, options);
  }

  /** The versions of a deployed decision model or form, oldest first. */
  async resources(type: ResourceType, id: string): Promise<readonly ResourceView[]> {
    readArgument(RESOURCE_TYPE, type, "type");
    const all = await this.#resources.versions(type, readArgument(kinds.name, id, "id"));
    return all.map(({ version, versionTag, hash, deployedAt }) => ({ version, versionTag, hash, deployedAt }));
  }

  /** The versions of a process, oldest first. */
  async deployments(process: string): Promise<readonly DeploymentView[]> {
    return await this.#definitions.deployments.list(readArgument(kinds.name, process, "process"));
  }

  /** Publishes a draft or a deprecated version. */
  async publishVersion(process: string, version: number, options?: ByOption): Promise<Deployment> {
    return await this.#change(process, version, "published", options);
  }

  /** Deprecates a version: it can be started only by its version number. Its runs continue. */
  async deprecateVersion(process: string, version: number, options?: ByOption): Promise<Deployment> {
    return await this.#change(process, version, "deprecated", options);
  }

  /** Archives a draft or a deprecated version: it cannot be started again. Its runs continue. */
  async archiveVersion(process: string, version: number, options?: ByOption): Promise<Deployment> {
    return await this.#change(process, version, "archived", options);
  }

  async #change(
    process: string,
    version: number,
    state: DeploymentState,
    options: ByOption | undefined,
  ): Promise<Deployment> {
    readArgument(kinds.name, process, "process");
    readArgument(VERSION, version, "version");
    const { by = null } = readOptions(BY_OPTION, options);
    return await this.#definitions.change(process, version, state, by);
  }

  /** Migrates runs to another version of their process. With `dryRun`, only reports the problems of each run. */
  async migrate(runIds: readonly string[], version: number, options?: MigrateRunsOptions): Promise<RunMigrationReport> {
    const parts = { engine: this.#engine, definitions: this.#definitions, evaluate: this.#evaluate };
    const ids = readArgument(RUN_IDS, runIds, "runIds");
    readArgument(VERSION, version, "version");
    return await migrateRuns(parts, ids, version, readOptions(MIGRATE_OPTIONS, options));
  }

  /** Loads versions that other processes have deployed since. */
  async refresh(): Promise<void> {
    await this.#definitions.refresh();
  }

  /**
   * Starts an instance of a process. Resolves when it is durable. A process without a plain start event starts if the variables
   * meet the condition of a conditional start event. The variables must match the form and the `inputSchema` of the start event.
   */
  async start(process: string, given?: Variables, startOptions?: StartProcessOptions): Promise<RunHandle<Variables>> {
    readArgument(kinds.name, process, "process");
    const variables = readArgument(VARIABLES, given, "variables") ?? {};
    const options = readOptions(START_OPTIONS, startOptions);
    const found = await this.#definitions.startable(process, options.version ?? null);
    const isPlain = (found.process.scopes.get(process)?.starts.length ?? 0) > 0;
    const chosen = options.at === undefined ? null : chosenStart(found.process, options.at);
    const element = chosen ?? (isPlain ? null : conditionalStart(found.process, this.#evaluate, variables));
    if (!isPlain && element === null) {
      throw new PawlError(
        "PROCESS_STATE",
        `process ${process} has no plain start event and no start condition is met; publish its start message, or pass variables that meet a condition`,
      );
    }
    const forms = await this.#startForms(found.process, element);
    const parts = { forms, evaluate: this.#evaluate };
    return await this.#begin(found, checkedInput(found.process, element, variables, parts), element, options);
  }

  /** The forms of the application, and the one that is deployed for the start event. */
  async #startForms(process: Process, element: string | null): Promise<Forms> {
    const id = startFormId(process, element);
    if (id === null || Object.hasOwn(this.#forms, id)) return this.#forms;
    const [text] = (await this.#resources.form(id, null))?.texts ?? [];
    return text === undefined ? this.#forms : { ...this.#forms, [id]: schemaOfForm(text) };
  }

  /** Starts an instance of every process whose latest version has a conditional start event that the variables meet. */
  async startByCondition(
    given: Variables,
    startOptions?: Pick<StartProcessOptions, "tags" | "businessKey">,
  ): Promise<ReadonlyArray<RunHandle<Variables>>> {
    const variables = readArgument(kinds.variables, given, "variables");
    const options = readOptions(CONDITION_OPTIONS, startOptions);
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

  /**
   * Lists instances, newest first. A business key also finds the instances that were called with it. By incident, element or variable
   * it reads the state of each instance, so name the process too.
   */
  async find(query?: FindQuery): Promise<Page<RunSummary>> {
    const found = readOptions(FIND_QUERY, query);
    const isProcess = await this.#definitions.processNames();
    const view = (runId: string): Promise<ProcessView> => this.view(runId);
    return await findRuns({ engine: this.#engine, isProcess: (name) => isProcess.has(name), view }, found);
  }

  /**
   * Sends a message: it starts instances of definitions with that start message, and the instance that waits for it receives it,
   * now or before it expires.
   */
  async publish(name: string, options?: PublishOptions): Promise<EmitOutcome> {
    readArgument(kinds.text, name, "message name");
    const { key = "", variables = {}, id, ttl = TTL } = readOptions(PUBLISH_OPTIONS, options);
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
  async signal(name: string, given?: Variables, options?: { readonly id?: string }): Promise<EmitOutcome> {
    readArgument(kinds.text, name, "signal name");
    const variables = readArgument(VARIABLES, given, "variables") ?? {};
    const value: MessageValue = { variables, from: null };
    const kept = { deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
    return await this.#engine.emit(signalTopic(name), value, { ...kept, ...readOptions(SIGNAL_OPTIONS, options) });
  }

  /** Completes the human task at a location of a run. `view` lists the locations. */
  async completeTask(runId: string, location: string, given?: Variables): Promise<SendOutcome> {
    readArgument(kinds.text, location, "location");
    const variables = readArgument(VARIABLES, given, "variables") ?? {};
    const { tasks } = await this.view(runId);
    if (!tasks.some((task) => task.location === location)) {
      throw new PawlError("PROCESS_STATE", `run ${runId} has no open task at ${location}`);
    }
    const id = `complete ${(await this.#taskAt(runId, location)) ?? location}`;
    return await this.#engine.send(runId, taskMessage(location), { variables }, { id });
  }

  /** The id of the open task at a location. After a rewind it is another task. */
  async #taskAt(runId: string, location: string): Promise<string | null> {
    let cursor: string | undefined;
    do {
      const page = await this.tasks.list({ runId, ...(cursor !== undefined && { cursor }) });
      const found = page.items.find(({ run }) => run?.location === location);
      if (found !== undefined) return found.id;
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    return null;
  }

  /**
   * Returns why a run is in its state, as data and as a sentence: as `engine.explain`, with the incidents and their messages, and with
   * the joins that hold tokens.
   */
  async explain(runId: string): Promise<ProcessExplanation> {
    const explanation = await this.#engine.explain(runId);
    return explainProcess(explanation, await this.view(runId));
  }

  /**
   * The state of a run: active elements, tasks, incidents, joins that hold tokens, subscriptions and variables. `at` shows it as it was after
   * an earlier record.
   */
  async view(runId: string, options?: AtOption): Promise<ProcessView> {
    const { at } = readOptions(AT_OPTION, options);
    const { run, process } = await this.#processRun(runId);
    if (at === undefined) return viewOf(process, this.#evaluate, run, await this.#engine.run(runId).sinceSnapshot());
    const { records, isWhole } = await recordsUpTo(this.#engine, run, at);
    const then: RunSummary = isWhole ? run : { ...run, status: "running" };
    return viewOf(process, this.#evaluate, then, { snapshot: null, records });
  }

  /**
   * What a run did: each passing of an element with its times, input, output, retries and errors, the status of every element, and its tokens.
   * Computed from all records of the run, so it costs more than `view`. `at` ends it after an earlier record.
   */
  async history(runId: string, options?: AtOption): Promise<ProcessHistory> {
    const { at } = readOptions(AT_OPTION, options);
    const { run, process } = await this.#processRun(runId);
    return historyOf(process, this.#evaluate, run, await recordsUpTo(this.#engine, run, at ?? null));
  }

  /** Reads a run and its process. */
  async #processRun(runId: string): Promise<{ readonly run: RunSummary; readonly process: Process }> {
    const run = await this.#engine.get(runId);
    if (run === null) throw new PawlError("RUN_NOT_FOUND", `run ${runId} not found`);
    if (run.unreadable !== null && run.input === undefined) throw run.unreadable;
    const { process } = await this.#definitions.version(run.workflow, run.version);
    return { run, process };
  }
}

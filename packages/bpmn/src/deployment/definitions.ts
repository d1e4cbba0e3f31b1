import { createHash } from "node:crypto";
import {
  type AnyWorkflow,
  type Engine,
  kinds,
  type OptionKind,
  optionTable,
  PawlError,
  programWorkflow,
  type Workflow,
} from "pawl";
import { checkExpressions, type FlawOf } from "../definition/check-expressions.ts";
import { type IgnoredExtension, type InspectedModel, modelInvalid, type Problem } from "../definition/problem.ts";
import { inspectBpmn } from "../definition/read-bpmn.ts";
import { type Graph, inspectGraph, withNodeTypes } from "../definition/read-graph.ts";
import type { Variables } from "../machine/state.ts";
import { type BoundReference, boundReferences, NO_PINS, type Pins, pinsFor } from "../model/pins.ts";
import type { Binding, Process } from "../model/process.ts";
import type { Called } from "../program/call-activities.ts";
import type { HandlerTable } from "../program/handlers.ts";
import { type ProcessEngine, workerOf } from "../program/process-engine.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { type ProgramParts, processProgram } from "../program/process-program.ts";
import { deployedDecisions } from "../tasks/deployed-decisions.ts";
import { decodeXml, isDocument } from "../xml/decode-xml.ts";
import { XML_LIMITS } from "../xml/xml-element.ts";
import {
  DEFINITION_WORKFLOW,
  type Definition,
  definitionId,
  definitionWorkflow,
  LISTENING,
  type Source,
  SUPERSEDED,
  startsOf,
  unusableStarts,
} from "./definition-run.ts";
import { type Deployment, type DeploymentState, Deployments } from "./deployments.ts";
import type { Resources } from "./resources.ts";

/** A deployed version of a process. */
export interface Deployed {
  readonly process: string;
  readonly version: number;
  /** False if the latest version already had the same model. */
  readonly isNew: boolean;
  /** Flaws of the document that change no execution, such as a diagram of an element that is gone. Omitted if there are none. */
  readonly warnings?: readonly Problem[];
  /** Extensions of modelers in the document that are not executed. Omitted if there are none. */
  readonly ignored?: readonly IgnoredExtension[];
}

export interface DeployOptions {
  /** `published` makes it the version that is started. A draft can only be inspected. Default `published`. */
  readonly state?: "draft" | "published";
  /** Whether an extension that is not executed is a problem. Otherwise it is listed in `ignored`. Default false. */
  readonly strict?: boolean;
}

export const DEPLOY_KINDS = { state: kinds.oneOf("draft", "published"), strict: kinds.flag } as const satisfies {
  readonly state: OptionKind<"draft" | "published">;
  readonly strict: OptionKind<boolean>;
};
export const DEPLOY_OPTIONS = optionTable<DeployOptions>("deploy", DEPLOY_KINDS);

/** A version that this process has loaded. */
export interface Version {
  readonly definition: Definition;
  readonly process: Process;
  readonly workflow: Workflow<ProcessInput, Variables>;
}

/** A source that was read and checked. */
export interface Prepared {
  readonly runnable: readonly Process[];
  readonly stored: Source;
  readonly notes: Pick<Deployed, "warnings" | "ignored">;
}

interface RunParts extends Omit<ProgramParts, "process" | "resolve" | "pins"> {
  readonly flawOf: FlawOf;
}

const ATTEMPTS_MAX = 100;

/**
 * The deployed processes. Each version is a run that stores the model and starts instances. The run id contains the version, so
 * that two concurrent deployments get different versions.
 */
export class Definitions {
  readonly #engine: ProcessEngine;
  /** The engine if it executes runs. Null for a client. */
  readonly #worker: Engine | null;
  readonly #parts: RunParts;
  readonly #resources: Resources;
  readonly #code: ReadonlyMap<string, AnyWorkflow>;
  readonly #versions = new Map<string, Version>();
  readonly #latest = new Map<string, number>();
  #isLearning = false;
  /** Why the last attempt to load new versions failed. Null if it did not. */
  #learningFailure: unknown = null;
  /** Set if a definition could not be read, which may be any. */
  #unreadable: PawlError | null = null;
  readonly #workflow: ReturnType<typeof definitionWorkflow>;
  readonly deployments: Deployments;

  constructor(engine: ProcessEngine, parts: RunParts, code: readonly AnyWorkflow[], resources: Resources) {
    this.#engine = engine;
    this.#worker = workerOf(engine);
    this.#resources = resources;
    this.deployments = new Deployments(engine.documents);
    this.#parts = parts;
    this.#code = new Map(code.map((each) => [each.name, each]));
    this.#workflow = definitionWorkflow(async (definition, id, startedBy) => {
      const { workflow } = await this.version(definition.process, definition.version);
      return await engine.start(workflow, { variables: {}, startedBy }, { id });
    });
  }

  /** Loads all deployed versions and registers their workflows. */
  async open(): Promise<void> {
    await this.refresh();
    await this.#worker?.register(this.#workflow);
    this.#worker?.on("worker.renewed", () => this.#learn());
  }

  /** Loads versions that other processes have deployed, after each heartbeat. */
  #learn(): void {
    const failure = this.#learningFailure;
    this.#learningFailure = null;
    if (!this.#isLearning) {
      this.#isLearning = true;
      this.#refreshIfNew()
        .catch((error: unknown) => {
          this.#learningFailure = error;
        })
        .finally(() => {
          this.#isLearning = false;
        });
    }
    // The engine logs what a listener throws. The next heartbeat tries again.
    if (failure !== null) throw failure;
  }

  async #refreshIfNew(): Promise<void> {
    await this.deployments.refresh();
    const { items } = await this.#engine.list({ workflow: DEFINITION_WORKFLOW, limit: 1 });
    if (items.some(({ id }) => !this.#versions.has(id))) await this.refresh();
  }

  /** Loads versions that other processes have deployed since. */
  async refresh(): Promise<void> {
    await this.deployments.refresh();
    this.#unreadable = null;
    let cursor: string | undefined;
    do {
      const page = await this.#engine.list({ workflow: DEFINITION_WORKFLOW, limit: 100, ...(cursor && { cursor }) });
      for (const { input, unreadable } of page.items) {
        if (unreadable !== null && input === undefined) this.#unreadable = unreadable;
        else await this.#add(input as Definition);
      }
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
  }

  async deploy(source: string | Uint8Array | Graph, options: DeployOptions): Promise<readonly Deployed[]> {
    return await this.deployAll([await this.prepare(source, options)], NO_PINS, options);
  }

  /** Reads and checks a source. Throws all of its problems. */
  async prepare(source: string | Uint8Array | Graph, { strict = false }: DeployOptions): Promise<Prepared> {
    const { processes, problems, warnings, ignored, stored } = await readSource(
      source,
      Object.keys(this.#parts.table.nodeTypes),
    );
    const runnable = processes.filter(({ isExecutable }) => isExecutable);
    for (const process of runnable) {
      checkExpressions(process, this.#parts.flawOf, problems);
      for (const { element, text } of unusableStarts(process, this.#parts.evaluate))
        problems.add(element, process.elements.get(element)?.line ?? null, text);
    }
    for (const { element, extension, line } of strict ? ignored : [])
      problems.add(element, line, `${extension} is not executed; remove it, or deploy without strict`);
    problems.check(stored.kind === "graph" ? "the graph" : "the model");
    if (runnable.length === 0) {
      const text = "the model has no executable process; set isExecutable on the one to run";
      throw modelInvalid("the model", [{ element: null, line: null, text }]);
    }
    const notes = { ...(warnings.length > 0 && { warnings }), ...(ignored.length > 0 && { ignored }) };
    return { runnable, stored, notes };
  }

  /** Throws `MODEL_INVALID` if a process is bound to something that the deployment does not contain. */
  checkDeployment(sources: readonly Prepared[], resources: Pins): void {
    inCallOrder(boundIn(sources), resources);
  }

  /** Deploys the processes of all sources. A process comes after those that it calls with the binding `deployment`. */
  async deployAll(
    sources: readonly Prepared[],
    resources: Pins,
    { state = "published" }: DeployOptions,
  ): Promise<readonly Deployed[]> {
    const versions: Record<string, number> = {};
    const deployed: Deployed[] = [];
    for (const { process, stored, notes, references } of inCallOrder(boundIn(sources), resources)) {
      const pins = references.length === 0 ? null : pinsFor(references, { ...resources, processes: { ...versions } });
      const made = await this.#deployOne(process, stored, state, pins);
      versions[process.id] = made.version;
      deployed.push({ ...made, ...notes });
    }
    return deployed;
  }

  /** Returns a version, or the latest published one if `version` is null. Loads it from the store if necessary. */
  async version(process: string, version: number | null): Promise<Version> {
    const known = this.#loaded(process, version);
    if (known !== null) return known;
    await this.refresh();
    const found = this.#loaded(process, version);
    if (found !== null) return found;
    if (this.#unreadable !== null) throw this.#unreadable;
    const which = version === null ? "" : ` version ${version}`;
    throw new PawlError("PROCESS_NOT_FOUND", `process ${process}${which} not found; deploy it first`);
  }

  /** The ids of all deployed processes, in every state. */
  async processNames(): Promise<ReadonlySet<string>> {
    await this.#refreshIfNew();
    return new Set(this.#latest.keys());
  }

  /** The latest published version of every process. */
  async latest(): Promise<readonly Version[]> {
    await this.refresh();
    return [...this.#latest.keys()].flatMap((process) => this.#loaded(process, null) ?? []);
  }

  /** Returns a version that may be started: published or deprecated. */
  async startable(process: string, version: number | null): Promise<Version> {
    const found = await this.version(process, version);
    const state = this.deployments.stateOf(process, found.definition.version);
    if (state === "published" || state === "deprecated") return found;
    const text = `cannot start process ${process} version ${found.definition.version}: it is ${state}; publish it first`;
    throw new PawlError("DEPLOYMENT_STATE", text);
  }

  /** Resolves the name in a call activity: a process, otherwise a code workflow. */
  async resolve(called: string, version: number | null, binding: Binding | null = null): Promise<Called> {
    if (binding?.kind === "versionTag") return await this.#tagged(called, binding.tag);
    const code = this.#loaded(called, version) === null ? this.#code.get(called) : undefined;
    if (code !== undefined) return { name: code.name, version: code.version, isProcess: false };
    const { definition } = await this.version(called, version);
    return { name: definition.process, version: definition.version, isProcess: true };
  }

  /** The latest version of a process with a version tag that may be started. */
  async #tagged(process: string, tag: string): Promise<Called> {
    await this.refresh();
    for (let version = this.#latest.get(process) ?? 0; version > 0; version -= 1) {
      const state = this.deployments.stateOf(process, version);
      const isStartable = state === "published" || state === "deprecated";
      if (isStartable && this.#loaded(process, version)?.process.versionTag === tag)
        return { name: process, version, isProcess: true };
    }
    throw new PawlError("PROCESS_NOT_FOUND", `process ${process} has no version with tag ${tag}; deploy it first`);
  }

  #loaded(process: string, version: number | null): Version | null {
    const wanted = version ?? this.#latestPublished(process);
    return wanted === undefined ? null : (this.#versions.get(definitionId(process, wanted)) ?? null);
  }

  /** Deploys one process as the next version. An unchanged model keeps its version. */
  async #deployOne(
    process: Process,
    source: Source,
    state: "draft" | "published",
    pins: Pins | null,
  ): Promise<Deployed> {
    const hash = hashOf(source, pins);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const latest = this.#latest.get(process.id) ?? 0;
      const was = this.deployments.stateOf(process.id, latest);
      if (this.#loaded(process.id, latest)?.definition.hash === hash && was !== "archived") {
        if (state === "published" && was !== "published") await this.change(process.id, latest, "published", null);
        return { process: process.id, version: latest, isNew: false };
      }
      const version = latest + 1;
      const starts = startsOf(process, this.#parts.evaluate);
      const own = { process: process.id, version, hash, source, starts, ...(pins !== null && { pins }) };
      const definition = state === "draft" ? { ...own, isDraft: true } : own;
      if (await this.#claim(definition)) {
        const before = this.#latestPublished(process.id);
        await this.deployments.record({ process: process.id, version, hash, state });
        await this.#add(definition, process);
        if (state === "published" && before !== undefined) await this.#sendCommand(process.id, before, SUPERSEDED);
        return { process: process.id, version, isNew: true };
      }
      await this.refresh();
      // Its versions may be taken by definitions that cannot be read.
      if (this.#unreadable !== null) throw this.#unreadable;
    }
    throw new PawlError(
      "PROCESS_STATE",
      `cannot deploy process ${process.id}: other deployments kept taking the next version; try again`,
    );
  }

  /** Changes the state of a version. Only the latest published version starts instances by its triggers. */
  async change(process: string, version: number, state: DeploymentState, by: string | null): Promise<Deployment> {
    const { definition } = await this.version(process, version);
    const before = this.#latestPublished(process);
    const changed = await this.deployments.change(definition, state, by);
    const newest = this.#latestPublished(process);
    if (before !== undefined && before !== newest) await this.#sendCommand(process, before, SUPERSEDED);
    if (newest !== undefined && before !== newest) await this.#sendCommand(process, newest, LISTENING);
    return changed;
  }

  #latestPublished(process: string): number | undefined {
    for (let version = this.#latest.get(process) ?? 0; version > 0; version -= 1) {
      const isThere = this.#versions.has(definitionId(process, version));
      if (isThere && this.deployments.stateOf(process, version) === "published") return version;
    }
    return undefined;
  }

  async #sendCommand(process: string, version: number, command: string): Promise<void> {
    await this.#engine.send(definitionId(process, version), "command", command);
  }

  /** Creates the definition run. False if another deployment took the version. */
  async #claim(definition: Definition): Promise<boolean> {
    const id = definitionId(definition.process, definition.version);
    try {
      await this.#engine.start(this.#workflow, definition, { id, onConflict: "fail" });
      return true;
    } catch (error) {
      if (error instanceof PawlError && error.code === "RUN_EXISTS") return false;
      throw error;
    }
  }

  async #add(definition: Definition, read?: Process): Promise<void> {
    const id = definitionId(definition.process, definition.version);
    if (this.#versions.has(id)) return;
    const process = read ?? (await this.#read(definition));
    const { pins = NO_PINS } = definition;
    const program = processProgram({
      ...this.#parts,
      process,
      pins,
      table: this.#tableWith(pins),
      resolve: (name, version, binding) => this.#resolveFor(definition, name, version, binding),
    });
    const workflow = programWorkflow<ProcessInput, Variables>(process.id, program, { version: definition.version });
    this.#versions.set(id, { definition, process, workflow });
    this.#latest.set(process.id, Math.max(this.#latest.get(process.id) ?? 0, definition.version));
    await this.#worker?.register(workflow);
  }

  /** Handlers of the application, and for decisions of which it handles none, the deployed ones. */
  #tableWith(pins: Pins): HandlerTable {
    const { table } = this.#parts;
    return { ...table, tasks: { businessRuleTask: deployedDecisions(this.#resources, pins), ...table.tasks } };
  }

  /** Resolves the name in a call activity of a process. A process that is bound to its deployment calls its own version. */
  async #resolveFor(
    { process, version, pins = NO_PINS }: Definition,
    called: string,
    wanted: number | null,
    binding: Binding | null,
  ): Promise<Called> {
    if (binding?.kind !== "deployment") return await this.resolve(called, wanted, binding);
    return await this.resolve(called, called === process ? version : (pins.processes[called] ?? null));
  }

  /** Problems are ignored: a stored model was deployable, and its runs continue if this release rejects such models. */
  async #read({ process, source }: Definition): Promise<Process> {
    const { processes } = await inspectSource(source);
    const found = processes.find(({ id }) => id === process);
    if (found === undefined)
      throw new PawlError("PROCESS_NOT_FOUND", `process ${process} not found in its deployed model`);
    return found;
  }
}

/** A model that is bound to its deployment has another version if one of those is changed. */
function hashOf({ kind, text }: Source, pins: Pins | null): string {
  const hash = createHash("sha256").update(kind).update(text);
  if (pins !== null) hash.update(JSON.stringify(pins));
  return hash.digest("hex");
}

function boundIn(sources: readonly Prepared[]) {
  return sources.flatMap(({ runnable, stored, notes }) =>
    runnable.map((process) => ({ process, stored, notes, references: boundReferences(process) })),
  );
}

type Bound = { readonly process: Process; readonly references: readonly BoundReference[] };

/**
 * Orders processes so that each comes after those that it calls with the binding `deployment`. Throws `MODEL_INVALID` for references to
 * something that the deployment does not contain, and for processes that are bound to each other.
 */
function inCallOrder<T extends Bound>(all: readonly T[], resources: Pins): readonly T[] {
  const known = { ...resources, processes: Object.fromEntries(all.map(({ process }) => [process.id, 0])) };
  const problems = all.flatMap(({ references }) =>
    references
      .filter(({ to, name }) => !Object.hasOwn(known[to], name))
      .map(({ element, line, name }) => {
        const text = `${name} is bound to its deployment, which does not contain it; deploy both with deployFiles`;
        return { element, line, text };
      }),
  );
  if (problems.length > 0) throw modelInvalid("the deployment", problems);
  const ordered: T[] = [];
  const open = new Map(all.map((each) => [each.process.id, each]));
  while (open.size > 0) {
    const next = [...open.values()].find(({ process, references }) =>
      references.every(({ to, name }) => to !== "processes" || name === process.id || !open.has(name)),
    );
    if (next === undefined) {
      const text = `the processes ${[...open.keys()].join(", ")} call each other with the binding deployment; use another`;
      throw modelInvalid("the deployment", [{ element: null, line: null, text }]);
    }
    open.delete(next.process.id);
    ordered.push(next);
  }
  return ordered;
}

async function readSource(
  source: string | Uint8Array | Graph,
  nodeTypes: readonly string[],
): Promise<InspectedModel & { readonly stored: Source }> {
  // A document is stored as decoded text: the encoding that it declares is not read again.
  const stored: Source = isDocument(source)
    ? { kind: "bpmn", text: decodeXml(source, XML_LIMITS.charsMax) }
    : { kind: "graph", text: graphText(withNodeTypes(source, nodeTypes)) };
  return { ...(await inspectSource(stored)), stored };
}

async function inspectSource({ kind, text }: Source): Promise<InspectedModel> {
  return kind === "bpmn" ? await inspectBpmn(text) : inspectGraph(JSON.parse(text) as Graph);
}

function graphText(graph: unknown): string {
  try {
    return JSON.stringify(graph) ?? "null";
  } catch (error) {
    const text = `the graph must be plain JSON: ${error instanceof Error ? error.message : String(error)}`;
    throw modelInvalid("the graph", [{ element: null, line: null, text }], error);
  }
}

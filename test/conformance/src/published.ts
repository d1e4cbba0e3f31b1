import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Bpmn, createBpmn, type Handlers, type IgnoredExtension, type TypeHandlers } from "@pawl/bpmn";
import { createEngine, type Engine, type Store } from "pawl";
import { type Crashable, crashable, intercepted, type VirtualWorld, virtualWorld } from "pawl/testing";
import { suiteFolder } from "./suites.ts";

/** A model as a modeler saves it, and what the world around it does. */
export interface PublishedModel {
  readonly name: string;
  /** Files in the folder `models`. The first one has the process. */
  readonly files: readonly string[];
  readonly process: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly handlers?: Handlers;
  readonly tasks?: TypeHandlers;
  /** What people fill in, by element: each task of the element gets the next one, and the last one again. */
  readonly answers?: Readonly<Record<string, ReadonlyArray<Readonly<Record<string, unknown>>>>>;
  /** Messages and signals that come when something waits for them, in this order, once each. */
  readonly arrivals?: readonly Arrival[];
  /** The variables at the end. */
  readonly output: Readonly<Record<string, unknown>>;
  /** The extensions that are not executed, as `element extension`. */
  readonly ignored?: readonly string[];
}

interface Arrival {
  readonly kind: "message" | "signal";
  readonly name: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

export interface PublishedOutcome {
  readonly output: unknown;
  readonly ignored: readonly string[];
  /** The handlers that were called, once per idempotency key, sorted. */
  readonly calls: readonly string[];
  readonly kills: number;
}

const MODELS = fileURLToPath(new URL("../models/", import.meta.url));
const LEASE = "3 s";
const TAKE_OVER = "6 s";
const ACTIONS_MAX = 60;
/** The workflow of definition runs, which never end. */
const DEFINITION_WORKFLOW = "bpmn definition";

interface Desk {
  readonly engine: Engine;
  readonly bpmn: Bpmn;
  readonly process: Crashable;
}

/** Executes a model to its end. With `kills`, the worker crashes before each thing that happens to the run. */
export async function runPublished(
  model: PublishedModel,
  store: Store,
  { kills }: { readonly kills: boolean },
): Promise<PublishedOutcome> {
  const world = virtualWorld();
  const shared = intercepted(store, async (call, proceed) =>
    call.method === "close" ? (undefined as never) : await proceed(),
  );
  const calls = new Set<string>();
  const open = async (): Promise<Desk> => {
    const process = crashable(shared, null);
    const engine = await createEngine({
      store: process.store,
      world: process.inWorld(world),
      lease: LEASE,
      log: () => undefined,
    });
    const options = { handlers: counted(model.handlers ?? {}, calls), tasks: counted(model.tasks ?? {}, calls) };
    return { engine, process, bpmn: await createBpmn({ engine, ...options, now: () => world.clock.now() }) };
  };
  let desk = await open();
  const { processes } = await desk.bpmn.deployFiles(model.files.map((name) => ({ name, content: contentOf(name) })));
  await desk.bpmn.start(model.process, model.variables ?? {}, { id: "run" });
  const ignored = (processes[0]?.ignored ?? []).map(
    ({ element, extension }: IgnoredExtension) => `${element} ${extension}`,
  );
  const happened = { answers: new Map<string, number>(), arrivals: 0 };
  let killed = 0;
  for (let action = 0; action < ACTIONS_MAX; action += 1) {
    await world.settle();
    if (kills) {
      desk.process.crash();
      desk = await open();
      await world.advance(TAKE_OVER);
      killed += 1;
    }
    const status = await desk.engine.run("run").status();
    if (status === "completed") {
      const output = await desk.engine.run("run").result();
      return { output, ignored, calls: [...calls].map((call) => call.split(" ")[0] ?? "").sort(), kills: killed };
    }
    if (status !== "suspended" && status !== "running") throw new Error(`the run is ${status}`);
    await act(desk.bpmn, world, model, happened);
  }
  throw new Error(`the run has not ended after ${ACTIONS_MAX} actions`);
}

/** Lets the next thing happen: a person, a message or signal, or else time. */
async function act(
  bpmn: Bpmn,
  world: VirtualWorld,
  { answers = {}, arrivals = [] }: PublishedModel,
  happened: { readonly answers: Map<string, number>; arrivals: number },
): Promise<void> {
  const waiting = await subscriptionsOf(bpmn);
  const arrival = arrivals[happened.arrivals];
  const target = waiting.find(({ kind, name }) => kind === arrival?.kind && name === arrival.name);
  if (arrival !== undefined && target !== undefined) {
    happened.arrivals += 1;
    if (arrival.kind === "signal") await bpmn.signal(arrival.name, arrival.variables);
    else await bpmn.publish(arrival.name, { key: target.key ?? "", variables: arrival.variables ?? {} });
    return;
  }
  const [task] = (await bpmn.tasks.list({ order: "created", limit: 1 })).items;
  if (task !== undefined) {
    const element = task.run?.element ?? "";
    const count = happened.answers.get(element) ?? 0;
    happened.answers.set(element, count + 1);
    const own = answers[element] ?? [];
    await bpmn.tasks.complete(task.id, own[count] ?? own.at(-1) ?? {});
    return;
  }
  const due = waiting.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt])).sort((a, b) => a - b)[0];
  if (due === undefined) throw new Error(`nothing can happen: ${JSON.stringify((await bpmn.view("run")).incidents)}`);
  await world.advance(Math.max(1, due - world.clock.now() + 1));
}

async function subscriptionsOf(bpmn: Bpmn) {
  const { items } = await bpmn.find({ status: ["suspended"] });
  const instances = items.filter(({ workflow }) => workflow !== DEFINITION_WORKFLOW);
  const views = await Promise.all(instances.map(({ id }) => bpmn.view(id)));
  return views.flatMap(({ subscriptions }) => subscriptions);
}

/** Handlers that note each call by its key, so that a call that is repeated after a crash counts once. */
function counted<Table extends Handlers | TypeHandlers>(table: Table, calls: Set<string>): Table {
  const entries = Object.entries(table as Handlers).map(([name, handler]): [string, Handlers[string]] => [
    name,
    (job) => {
      calls.add(`${job.element.id}${job.listener === undefined ? "" : `:${job.listener}`} ${job.idempotencyKey}`);
      return handler(job);
    },
  ]);
  return Object.fromEntries(entries) as unknown as Table;
}

/** A model of MIWG is made executable, and nothing else is changed. */
function contentOf(name: string): string {
  if (!name.startsWith("miwg/")) return readFileSync(join(MODELS, name), "utf8");
  const folder = suiteFolder("miwg");
  if (folder === null) throw new Error("MIWG not found");
  return readFileSync(join(folder, name.slice("miwg/".length)), "utf8").replaceAll(
    'isExecutable="false"',
    'isExecutable="true"',
  );
}

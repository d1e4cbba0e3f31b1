import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  createClient,
  createEngine,
  type Engine,
  type Log,
  memoryStore,
  type RunHandle,
  type Store,
} from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { type Crashable, crashable, intercepted, type VirtualWorld, virtualWorld } from "pawl/testing";
import { type Bpmn, type BpmnOptions, createBpmn } from "../index.ts";

export type Options = Omit<BpmnOptions, "engine">;

/** A virtual world, a store, and engines on it. */
export interface Site {
  readonly world: VirtualWorld;
  /** The log lines of all engines. */
  readonly log: readonly { readonly text: string; readonly fields: Readonly<Record<string, unknown>> }[];
  open(options?: Options, crashAt?: Parameters<typeof crashable>[1]): Promise<Desk>;
  /** Processes of a client, which executes nothing. */
  client(options?: Options): Promise<{ readonly client: Client; readonly bpmn: Bpmn }>;
}

export interface Desk {
  readonly engine: Engine;
  readonly bpmn: Bpmn;
  readonly process: Crashable;
}

const LEASE = "3 s";
/** The time after which another engine has taken over the runs of a crashed one. */
export const TAKE_OVER = "6 s";

/** Registers a cleanup function. */
type AtEnd = (cleanUp: () => Promise<void>) => void;

export async function siteOf(store: Store, atEnd: AtEnd): Promise<Site> {
  const world = virtualWorld();
  const shared = intercepted(store, async (call, proceed) =>
    call.method === "close" ? (undefined as never) : await proceed(),
  );
  atEnd(() => store.close());
  const lines: { readonly text: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
  const log: Log = (_level, text, fields) => void lines.push({ text, fields });
  return {
    world,
    log: lines,
    async open(options = {}, crashAt = null) {
      const process = crashable(shared, crashAt);
      const inWorld = process.inWorld(world);
      const engine = await createEngine({ store: process.store, world: inWorld, lease: LEASE, log });
      return { engine, process, bpmn: await createBpmn({ engine, ...options }) };
    },
    async client(options = {}) {
      const client = await createClient({ store: shared, world, log });
      return { client, bpmn: await createBpmn({ engine: client, ...options }) };
    },
  };
}

export const STORES: ReadonlyArray<readonly [string, (atEnd: AtEnd) => Promise<Store>]> = [
  ["memory", async () => memoryStore()],
  [
    "sqlite",
    async (atEnd) => {
      const folder = await mkdtemp(join(tmpdir(), "pawl-bpmn-"));
      atEnd(() => rm(folder, { recursive: true, force: true }));
      return sqliteStore(join(folder, "test.db"), { synchronous: "NORMAL" });
    },
  ],
];

/** The output of a run that must have completed. */
export async function ended(world: VirtualWorld, run: RunHandle): Promise<unknown> {
  await world.settle();
  const status = await run.status();
  if (status !== "completed") throw new Error(`run ${run.id} is ${status}`);
  return await run.result();
}

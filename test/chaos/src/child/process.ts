import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createEngine, type Engine, type EngineOptions, type Log, PawlError, type Store } from "pawl";
import { storeAt } from "../database.ts";
import { digestOf } from "../digest.ts";
import { loadWorkflows } from "../load/workflows.ts";
import { CLAIMS_MAX, DRAIN_MS, POLL_MS } from "../settings.ts";
import { Driver } from "./drive.ts";
import { type ObservedStore, observedStore } from "./observed-store.ts";
import { ParentLink } from "./parent-link.ts";

/** Worker or client, its name, the folder, the address of the database, the number of parallel scenarios, and the lease in ms. */
const [role = "worker", name = "", folder = ".", address = "", lanes = "0", leaseMs = "1000"] = process.argv.slice(2);
const now = (): number => Date.now();
/** Attempts to connect to a server that is down, and the time between them. */
const OPEN_ATTEMPTS_MAX = 100;
const RETRY_MS = 100;

const log: Log = (level, text, fields) => {
  if (level === "debug" || level === "info") return;
  const line = `${new Date().toISOString()} ${level} ${text} ${JSON.stringify(fields)}\n`;
  appendFileSync(join(folder, `${name}.log`), line);
};

function report(engine: Engine, link: ParentLink): void {
  engine.on("record", ({ runId, record }) => {
    const { seq, location, kind } = record;
    link.note({ kind: "record", run: runId, seq, location, record: kind, digest: digestOf(record) });
  });
  engine.on("engine.broken", ({ error }) => link.note({ kind: "broken", text: String(error) }));
  engine.on("unhandledRejection", ({ runId, error }) => {
    link.note({ kind: "broken", text: `unhandled rejection in ${runId}: ${String(error)}` });
  });
}

/** Waits for a server that is down. createEngine closes its store when it fails, so each attempt creates another store. */
async function opened(connect: () => Store, options: Omit<EngineOptions, "store">): Promise<Engine> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await createEngine({ ...options, store: connect() });
    } catch (error) {
      if (!isUnavailable(error) || attempts === OPEN_ATTEMPTS_MAX) throw error;
      await delay(RETRY_MS);
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof PawlError && error.code === "STORE_UNAVAILABLE";
}

async function main(): Promise<void> {
  const link = new ParentLink();
  const connect = (): ObservedStore => observedStore(storeAt(address), (entry) => link.note(entry), now);
  let observed: ObservedStore | null = null;
  const workflows = loadWorkflows({
    now,
    epochOf: (runId) => observed?.epochOf(runId) ?? 0,
    append: (entry) => link.append(entry),
  });
  const options: Omit<EngineOptions, "store"> = {
    lease: Number(leaseMs),
    poll: POLL_MS,
    claimsMax: CLAIMS_MAX,
    log,
    ...(role === "worker" ? { workflows } : {}),
  };
  let stop: (() => Promise<void>) | null = null;
  let termed = false;
  process.on("SIGTERM", () => {
    if (!termed) void stop?.();
    termed = true;
  });
  const engine = await opened(() => {
    observed = connect();
    return observed.store;
  }, options);
  report(engine, link);
  const driver = new Driver(engine, workflows, link);
  stop = async () => {
    driver.stop();
    await engine.shutdown({ drainMs: DRAIN_MS });
    // With the link closed nothing keeps the process alive. A process that does not exit has a leak.
    link.close();
  };
  if (termed) {
    await stop();
    return;
  }
  link.ready();
  driver.start(Number(lanes));
}

await main();

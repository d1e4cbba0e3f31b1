import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine, type Engine, type EngineOptions, type Log } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { digestOf } from "../digest.ts";
import { loadWorkflows } from "../load/workflows.ts";
import { CLAIMS_MAX, DATABASE_FILE, DRAIN_MS, LEASE_MS, POLL_MS } from "../settings.ts";
import { Driver } from "./drive.ts";
import { observedStore } from "./observed-store.ts";
import { ParentLink } from "./parent-link.ts";

/** Worker or client, its name, the folder, and how many scenarios it drives at a time. */
const [role = "worker", name = "", folder = ".", lanes = "0"] = process.argv.slice(2);
const now = (): number => Date.now();

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

async function main(): Promise<void> {
  const link = new ParentLink();
  const observed = observedStore(sqliteStore(join(folder, DATABASE_FILE)), (entry) => link.note(entry), now);
  const workflows = loadWorkflows({
    now,
    epochOf: observed.epochOf,
    append: (entry) => link.append(entry),
  });
  const options: EngineOptions = {
    store: observed.store,
    lease: LEASE_MS,
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
  const engine = await createEngine(options);
  report(engine, link);
  const driver = new Driver(engine, workflows, link);
  stop = async () => {
    driver.stop();
    await engine.shutdown({ drainMs: DRAIN_MS });
    // With the link closed nothing of ours is left: a process that does not end by itself shows something that was forgotten.
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

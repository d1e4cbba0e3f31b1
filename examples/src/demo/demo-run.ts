import { createEngine, type Engine, type RunHandle } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { Crash } from "./crash.ts";
import { type Found, findOrder } from "./found.ts";
import type { DemoOptions } from "./options.ts";
import { type Order, order, shipment } from "./order.ts";
import { heading, recordLine, stepNames } from "./report.ts";

/** Longer than an order takes: the demo must end whatever happens. */
const DEMO_MS_MAX = 60_000;
const APPROVE_AFTER_MS = 1_000;
const LOOK_MS = 100;

/** Starts an order or goes on with one, and tells of every record. The answer is the exit code. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const found = await findOrder(options.file);
  if (found.kind === "paused") {
    console.error(`${found.run.id} is paused: ${found.run.error?.message}\nStart the demo with --reset, then again.`);
    return 1;
  }
  tellBeginning(found);
  const input = found.kind === "open" ? (found.run.input as Order) : freshOrder(options);
  if (!options.approve && input.someoneApproves)
    console.log("--no-approve is for a fresh order; this one is approved.\n");
  const crash = options.crash ? new Crash(found.kind === "open" ? found.kept.length : 0, input.someoneApproves) : null;
  // The lease is short, so that a process that was killed is missed soon.
  const engine = await createEngine({
    store: sqliteStore(options.file),
    workflows: [order, shipment],
    lease: "2 seconds",
    poll: "200 ms",
  });
  engine.on("record", ({ workflow, record }) => {
    console.log(recordLine(workflow, record));
    crash?.count();
  });
  return await untilEnd(engine, found, input);
}

async function untilEnd(engine: Engine, found: Exclude<Found, { kind: "paused" }>, input: Order): Promise<number> {
  const stopped = stopOnSignals(engine);
  const timer = setTimeout(() => void engine.shutdown({ drainMs: 0 }), DEMO_MS_MAX);
  const paused = new Promise<never>((_, reject) => engine.on("run.paused", ({ error }) => reject(error)));
  try {
    const run =
      found.kind === "open" ? engine.run(found.run.id) : await engine.start(order, input, { id: found.nextId });
    const approved = input.someoneApproves ? approveLater(engine, run) : Promise.resolve();
    const result = await Promise.race([run.result(), paused]);
    await approved;
    tellEnd(run.id, found, result);
    return 0;
  } catch (error) {
    if (stopped()) return 0;
    console.error(`\nThe demo ended early: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    clearTimeout(timer);
    await engine.shutdown();
    if (stopped()) console.log("Stopped. Start it again (npm run demo) to go on from the last record.");
  }
}

function freshOrder(options: DemoOptions): Order {
  return { item: "two bags of tea", cents: 1_299, someoneApproves: options.approve };
}

function tellBeginning(found: Exclude<Found, { kind: "paused" }>): void {
  if (found.kind === "nothing open") {
    console.log(`${found.nextId} begins.\n\n${heading()}`);
    return;
  }
  console.log(`${found.run.id} is not finished and goes on. Its journal holds:\n\n${heading()}`);
  for (const { workflow, record } of found.kept) console.log(recordLine(workflow, record, "kept"));
  console.log("\nIf the process before this one was killed, its lease has to end first: 2 seconds at most.\n");
}

function tellEnd(runId: string, found: Found, result: unknown): void {
  const steps = found.kind === "open" ? stepNames(found.kept) : [];
  if (steps.length > 0) console.log(`\nnot run again: ${steps.join(", ")}`);
  console.log(`\n${runId} is finished: ${JSON.stringify(result)}`);
}

/** Waits until the order listens, then sends. The id makes it one message, however often the demo is started. */
async function approveLater(engine: Engine, run: RunHandle): Promise<void> {
  try {
    for (;;) {
      const summary = await engine.get(run.id);
      if (summary === null || summary.endedAt !== null) return;
      if (summary.wait?.messages.includes("approve")) break;
      await pause(LOOK_MS);
    }
    await pause(APPROVE_AFTER_MS);
    await run.send("approve", { by: "ann" }, { id: "approve-once" });
    console.log('         » the demo has sent the message "approve"');
  } catch (error) {
    // The demo is being stopped: the next start sends it.
    if ((error as { code?: unknown }).code !== "ENGINE_STOPPED") throw error;
  }
}

/** Ctrl-C gives the run back; a second one ends at once. The answer tells whether that happened. */
function stopOnSignals(engine: Engine): () => boolean {
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(130);
      stopping = true;
      console.log("\nShutting down …");
      void engine.shutdown({ drainMs: 1_000 });
    });
  }
  return () => stopping;
}

/** Keeps no process alive that has nothing else to do. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

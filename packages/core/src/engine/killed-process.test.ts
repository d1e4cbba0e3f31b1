import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEngine, workflow } from "../index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";

/** The folder from which the process resolves the driver, as the sources do. */
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache", import.meta.url));
const source = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
let folder = "";

/** Starts a run on a file, and kills itself inside of the second step. */
const VICTIM = `
import { createEngine, workflow } from "./pawl.mjs";
import { sqliteStore } from "./sqlite.mjs";
const order = workflow("order", async (ctx) => {
  await ctx.step("first", () => "kept");
  await ctx.step("second", () => process.kill(process.pid, "SIGKILL"));
});
const engine = await createEngine({ store: sqliteStore(process.argv[2]), workflows: [order], lease: "1 hour" });
await engine.start(order, undefined, { id: "o-1" });
await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

beforeAll(async () => {
  mkdirSync(CACHE, { recursive: true });
  folder = mkdtempSync(join(CACHE, "killed-"));
  const input = { pawl: source("index.ts"), sqlite: source("store/sqlite/index.ts") };
  const bundle = await rolldown({ input, platform: "node", external: /^(node:|@photostructure)/ });
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  await bundle.close();
  writeFileSync(join(folder, "victim.mjs"), VICTIM);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("a restart after a kill does not wait for the lease of the process that was killed", async () => {
  const path = join(folder, "killed.db");
  const child = spawn(process.execPath, [join(folder, "victim.mjs"), path], { stdio: "inherit" });
  const signal = await new Promise((resolve) => child.on("close", (_code, by) => resolve(by)));
  expect(signal).toBe("SIGKILL");
  const called: string[] = [];
  const step = (name: string) => (): string => {
    called.push(name);
    return name;
  };
  const order = workflow("order", async (ctx) => [
    await ctx.step("first", step("first")),
    await ctx.step("second", step("second")),
  ]);
  const lines: string[] = [];
  const engine = await createEngine({
    store: sqliteStore(path),
    workflows: [order],
    log: (_level, text) => lines.push(text),
  });
  // With the lease of an hour, the test would end here without a result.
  expect(await engine.run("o-1").result()).toEqual(["kept", "second"]);
  expect(called).toEqual(["second"]);
  expect(lines).toEqual(["a worker process has ended without a shutdown; its runs are taken over"]);
  await engine.shutdown();
});

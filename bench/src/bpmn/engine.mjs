import { createBpmn } from "@pawl/bpmn";
import { createEngine, memoryStore } from "pawl";
import { sqliteStore } from "pawl/sqlite";
import { databasePath } from "../pawl/engine.mjs";

/**
 * Processes with default settings, and on SQLite with `synchronous=FULL` by default.
 *
 * @param {{ store: "memory" | "sqlite", folder: string, synchronous?: "FULL" | "NORMAL", wrap?: (store: any) => any }} where
 * @param {import("@pawl/bpmn").TypeHandlers} tasks
 */
export async function openProcesses({ store, folder, synchronous = "FULL", wrap = (made) => made }, tasks) {
  const made = store === "memory" ? memoryStore() : sqliteStore(databasePath(folder), { synchronous });
  // Silences the warnings about large snapshots.
  const engine = await createEngine({ store: wrap(made), log: () => undefined });
  return { engine, bpmn: await createBpmn({ engine, tasks }) };
}

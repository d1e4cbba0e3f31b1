import type { Client, Engine } from "pawl";

/** What processes need of an engine. A client has it too, and executes nothing. */
export type ProcessEngine = Omit<Client, "close">;

/** The engine if it executes runs. Null for a client. Apart, because definitions and events both ask it. */
export function workerOf(engine: ProcessEngine): Engine | null {
  return "register" in engine && "on" in engine ? (engine as Engine) : null;
}

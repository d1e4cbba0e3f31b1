import type { Engine } from "pawl";
import type { SimProcess } from "./simulation-context.ts";

/** A request of a client. It is repeated, on another engine, until there is an answer. */
export interface ClientRequest {
  readonly label: string;
  ask(engine: Engine, worker: SimProcess): Promise<unknown>;
  answered(answer: unknown): void;
  done: boolean;
}

/** Codes of an unknown outcome: the request is repeated. */
export const RETRIED_CODES: ReadonlySet<string> = new Set([
  "STORE_UNAVAILABLE",
  "STORE_BUSY",
  "STORE_UNSUPPORTED",
  "ENGINE_STOPPED",
  // Another engine may have the key.
  "PAYLOAD_UNREADABLE",
]);

/** Codes that are a final answer to a control or an operator action. */
export const REFUSAL_CODES: ReadonlySet<string> = new Set([
  "RUN_NOT_FOUND",
  "RUN_ENDED",
  "RUN_NOT_PAUSED",
  "RECORD_NOT_FOUND",
  "STEP_UNDONE",
  "RUN_UNDOING",
  "RUN_BUSY",
  "RUN_NOT_FAILED",
  "CHILD_OPEN",
  "CHILD_GONE",
  "WORKFLOW_UNKNOWN",
  "LETTER_NOT_FOUND",
]);

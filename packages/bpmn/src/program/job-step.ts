import {
  type Completion,
  kinds,
  type ProgramHost,
  type RetryPolicy,
  readArgument,
  type StepCommand,
  type StepInfo,
} from "pawl";
import { BpmnError } from "../bpmn-error.ts";
import type { Command, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import type { WorkingState } from "../machine/working-state.ts";
import type { Listener, Process, RetrySetting } from "../model/process.ts";
import { taskTimeoutMs } from "../model/timer.ts";
import { type HandlerTable, handlerOf, type Job, listenerHandlerOf } from "./handlers.ts";

interface JobParts {
  readonly process: Process;
  readonly table: HandlerTable;
  readonly retry: RetrySetting;
  readonly businessKey?: string;
  readonly by?: string;
}

/** The recorded result of a job. */
export type JobResult =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "threw"; readonly code: string; readonly message: string; readonly variables: Variables };

/** Issues the job of a task as a step of the run. */
export function issueJobStep(
  host: ProgramHost,
  parts: JobParts,
  state: WorkingState,
  command: Extract<Command, { kind: "work" | "listener" }>,
  settle: (completion: Completion) => void,
): void {
  const id = state.rows.get(command.row)?.element ?? "";
  const element = parts.process.elements.get(id);
  const listener = command.kind === "listener" ? command.listener : null;
  const own = listener ?? (element !== undefined && "retry" in element ? element : null);
  const step = stepCommand(host, {
    location: command.location,
    body: (info) => executeJob({ host, id, listener }, parts, jobVariables(state, command.row), info),
    retry: policyOf(own?.retry ?? parts.retry),
    settle,
  });
  const timeout = listener === null ? element?.properties.timeout : undefined;
  const timeoutMs = timeout === undefined ? null : taskTimeoutMs(timeout);
  host.issue({ ...step, timeoutMs, retryOnTimeout: true });
}

/** Builds a durable step without a timeout, with the default idempotency key. */
export function stepCommand(
  host: ProgramHost,
  { location, body, retry, settle }: Pick<StepCommand, "location" | "body" | "retry" | "settle">,
): StepCommand {
  return {
    kind: "step",
    record: "step",
    location,
    issuedAt: host.now(),
    body,
    retry,
    shouldRetry: null,
    timeoutMs: null,
    retryOnTimeout: false,
    ephemeral: false,
    idempotencyKey: null,
    attempts: 0,
    retryAt: 0,
    settle,
  };
}

function policyOf({ maxAttempts, backoff, initialMs, maxMs, jitter }: RetrySetting): RetryPolicy {
  const factor = backoff === "exponential" ? 2 : 1;
  return { maxAttempts, initialMs, factor, growthMs: backoff === "linear" ? initialMs : 0, maxMs, jitter };
}

/** A copy of the variables for a handler, which may change them. Objects are copied on first access. */
function jobVariables(state: WorkingState, id: number): Variables {
  const seen: Record<string, unknown> = { ...variablesOfRow(state, id) };
  for (const name of Object.keys(seen)) {
    const value = seen[name];
    if (typeof value !== "object" || value === null) continue;
    let copy: unknown;
    const get = (): unknown => (copy ??= structuredClone(value));
    Object.defineProperty(seen, name, { get, enumerable: true, configurable: true });
  }
  return seen;
}

const LEVEL = kinds.required(kinds.oneOf("info", "warn", "error"));
const FIELDS = kinds.optional(kinds.map(kinds.value));

function loggerOf(host: ProgramHost, element: string): Job["log"] {
  return (level, text, fields) => {
    readArgument(LEVEL, level, "level of the log line");
    readArgument(kinds.text, text, "text of the log line");
    host.log(level, text, { element, ...readArgument(FIELDS, fields, "fields of the log line") });
  };
}

/** Calls the handler. A `BpmnError` is a result of the step, not a failure. */
async function executeJob(
  { host, id, listener }: { readonly host: ProgramHost; readonly id: string; readonly listener: Listener | null },
  { process, table, businessKey, by }: JobParts,
  variables: Readonly<Record<string, unknown>>,
  { attempt, signal, idempotencyKey }: StepInfo,
): Promise<JobResult> {
  const element = process.elements.get(id);
  if (element === undefined) throw new Error(`process ${process.id} has no element ${id}`);
  const handler = listener === null ? handlerOf(table, element) : listenerHandlerOf(table, element, listener);
  try {
    const told = listener === null ? {} : { listener: listener.event };
    const given = {
      runId: host.runId,
      process: process.id,
      businessKey: businessKey ?? null,
      startedBy: by ?? null,
      element,
      variables,
    };
    const log = loggerOf(host, id);
    const job = { ...given, log, attempt, signal, idempotencyKey, ...told };
    return { kind: "done", value: (await handler(job)) ?? null };
  } catch (error) {
    if (!(error instanceof BpmnError)) throw error;
    return { kind: "threw", code: error.code, message: error.message, variables: error.variables };
  }
}

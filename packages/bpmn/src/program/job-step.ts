import type { Completion, ProgramHost, RetryPolicy, StepInfo } from "pawl";
import { BpmnError } from "../bpmn-error.ts";
import type { Command, Variables } from "../machine/state.ts";
import { visibleFrom } from "../machine/variables.ts";
import type { Live } from "../machine/working-state.ts";
import type { Process, RetrySetting } from "../model/process.ts";
import { type HandlerTable, handlerOf } from "./handlers.ts";

interface WorkParts {
  readonly process: Process;
  readonly table: HandlerTable;
  readonly retry: RetrySetting;
  readonly businessKey: string | null;
}

/** What the record of a task's work holds. */
export type WorkDone =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "threw"; readonly code: string; readonly message: string; readonly variables: Variables };

/** The work of a task is a step of the run. */
export function issueStep(
  host: ProgramHost,
  parts: WorkParts,
  live: Live,
  command: Extract<Command, { kind: "work" }>,
  settle: (completion: Completion) => void,
): void {
  const id = live.rows.get(command.row)?.element ?? "";
  const element = parts.process.elements.get(id);
  const setting = (element !== undefined && "retry" in element ? element.retry : null) ?? parts.retry;
  host.issue({
    kind: "step",
    record: "step",
    location: command.place,
    issuedAt: host.now(),
    body: (info) => work(host.runId, parts, id, seenFrom(live, command.row), info),
    retry: policyOf(setting),
    shouldRetry: null,
    timeoutMs: null,
    retryOnTimeout: false,
    ephemeral: false,
    idempotencyKey: null,
    attempts: 0,
    retryAt: 0,
    settle,
  });
}

function policyOf({ tries, backoff, initialMs, maxMs, jitter }: RetrySetting): RetryPolicy {
  const factor = backoff === "exponential" ? 2 : 1;
  return { maxAttempts: tries, initialMs, factor, growthMs: backoff === "linear" ? initialMs : 0, maxMs, jitter };
}

/** What a handler is given is its own: what it does to it changes nothing here. Large values are copied when they are looked at. */
function seenFrom(live: Live, id: number): Variables {
  const seen: Record<string, unknown> = { ...visibleFrom(live, id) };
  for (const name of Object.keys(seen)) {
    const value = seen[name];
    if (typeof value !== "object" || value === null) continue;
    let copy: unknown;
    const get = (): unknown => (copy ??= structuredClone(value));
    Object.defineProperty(seen, name, { get, enumerable: true, configurable: true });
  }
  return seen;
}

/** An error of the model is an outcome of the work, not a failure of it. */
async function work(
  runId: string,
  { process, table, businessKey }: WorkParts,
  id: string,
  variables: Readonly<Record<string, unknown>>,
  { attempt, signal, idempotencyKey }: StepInfo,
): Promise<WorkDone> {
  const element = process.elements.get(id);
  if (element === undefined) throw new Error(`process ${process.id} has no element ${id}`);
  const handler = handlerOf(table, element);
  try {
    const job = { runId, process: process.id, businessKey, element, variables, attempt, signal, idempotencyKey };
    return { kind: "done", value: (await handler(job)) ?? null };
  } catch (error) {
    if (!(error instanceof BpmnError)) throw error;
    return { kind: "threw", code: error.code, message: error.message, variables: error.variables };
  }
}

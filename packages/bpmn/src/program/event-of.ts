import type { Completion } from "pawl";
import type { Command, MachineEvent, Variables } from "../machine/state.ts";
import type { Carried } from "./topics.ts";
import type { WorkDone } from "./work.ts";

/** What a completion means for the machine. */
export function eventOf(
  { runId, at }: { readonly runId: string; readonly at: number },
  command: Command,
  completion: Completion,
): MachineEvent {
  const { place } = command;
  if (completion.outcome === "timedOut") return { kind: "completed", at, place, variables: {}, value: null };
  if (completion.outcome === "failed") return failed(at, command, completion.error);
  const { value } = completion;
  if (command.kind === "work") {
    const done = value as WorkDone;
    if (done.kind === "threw") return { ...done, at, place };
    return { kind: "completed", at, place, variables: {}, value: done.value };
  }
  if (command.kind === "call") return { kind: "completed", at, place, variables: {}, value };
  if (command.kind === "timer" || command.kind === "due")
    return { kind: "completed", at, place, variables: {}, value: null };
  const { value: carried, sentAt } = value as { readonly value: Partial<Carried>; readonly sentAt: number };
  const isEcho = command.kind === "signal" && (carried.from === runId || sentAt < command.since);
  if (isEcho) return { kind: "echoed", at, place };
  const variables = carried.variables ?? {};
  return { kind: "completed", at, place, variables, value: variables };
}

function failed(at: number, { kind, place }: Command, error: Error): MachineEvent {
  const { message } = error;
  if (kind !== "call") {
    const reason = "isNoHandler" in error ? "noHandler" : "failed";
    return { kind: "failed", at, place, message, reason };
  }
  const cause = error.cause instanceof Error ? error.cause : null;
  const thrown = cause as {
    readonly code?: unknown;
    readonly errorCode?: unknown;
    readonly variables?: unknown;
  } | null;
  const isError = thrown?.code === "BPMN_ERROR" || cause?.name === "BpmnError";
  if (thrown === null || !isError) return { kind: "failed", at, place, message, reason: "call" };
  const code = String(thrown.errorCode ?? thrown.code);
  const variables = (thrown.variables ?? {}) as Variables;
  return { kind: "threw", at, place, code, message: cause?.message ?? message, variables };
}

import {
  type Arm,
  type Completion,
  PawlError,
  type ProgramFactory,
  type ProgramHost,
  type RecordKind,
  type StoredDocument,
} from "pawl";
import type { ProcessEvents } from "../events/process-events.ts";
import { RunEvents } from "../events/run-events.ts";
import { applyEvent } from "../machine/advance.ts";
import type { Command, Ending, MachineEvent, Variables } from "../machine/state.ts";
import { variablesOfRow } from "../machine/variables.ts";
import { createWorkingState, fromState, stateOf, type WorkingState } from "../machine/working-state.ts";
import type { Pins } from "../model/pins.ts";
import type { Binding, Expression, Process, RetrySetting } from "../model/process.ts";
import { CallActivities, type Called } from "./call-activities.ts";
import type { HandlerTable } from "./handlers.ts";
import { issueJobStep, type JobResult } from "./job-step.ts";
import { type InboxMessage, OperatorInbox } from "./operator-inbox.ts";
import { emitOverdue, send } from "./outgoing-messages.ts";
import type { ProcessInput } from "./process-input.ts";
import { fromSnapshotState, type ProcessSnapshot, saveSnapshot, toSnapshotState } from "./process-snapshot.ts";
import { TaskDocuments } from "./task-documents.ts";
import { type MessageValue, messageTopic, signalTopic, TASK_DONE, taskMessage } from "./topics.ts";

export interface ProgramParts {
  readonly process: Process;
  readonly table: HandlerTable;
  readonly retry: RetrySetting;
  evaluate(expression: Expression, variables: Variables): unknown;
  /** Resolves the workflow of a call activity. */
  resolve(called: string, version: number | null, binding: Binding | null): Promise<Called> | Called;
  /** The versions that were deployed together with the process. */
  readonly pins: Pins;
  /** Number of records between snapshots. */
  readonly snapshotEvery: number;
  /** Whether there is a snapshot when tokens join at a gateway. */
  readonly snapshotAtJoins: boolean;
  /** The listeners to what happens in runs. */
  readonly events?: ProcessEvents;
}

const ELEMENT_LEFT = new Error("the element was interrupted");

/** Interprets one process run: completions become machine events, and machine commands become commands of the kernel. */
export function processProgram(parts: ProgramParts): ProgramFactory {
  return (host) => {
    const program = new ProcessProgram(parts, host);
    return { start: (input, snapshot) => program.start(input as ProcessInput, snapshot) };
  };
}

class ProcessProgram {
  readonly #parts: ProgramParts;
  readonly #host: ProgramHost;
  readonly #calls: CallActivities;
  readonly #inbox: OperatorInbox;
  readonly #tasks: TaskDocuments;
  #state: WorkingState;
  #records = 0;
  #inherited: Pick<ProcessInput, "businessKey" | "by" | "priority"> = {};
  #events: RunEvents | null = null;

  constructor(parts: ProgramParts, host: ProgramHost) {
    this.#parts = parts;
    this.#host = host;
    const environment = { evaluate: parts.evaluate, isCalled: host.run.parent !== null };
    this.#state = createWorkingState(parts.process, environment);
    this.#calls = new CallActivities(host, {
      resolve: parts.resolve,
      inherited: () => this.#inherited,
      variablesOf: (row) => callVariables(this.#state, row),
      onEnd: (location, completion) => this.#onCompletion(location, completion),
    });
    this.#inbox = new OperatorInbox(host, (message) => this.#onInboxMessage(message));
    this.#tasks = new TaskDocuments(host, parts.pins);
  }

  start(input: ProcessInput, snapshot: { readonly state: unknown } | null): void {
    const { businessKey, by, priority } = input;
    this.#inherited = {
      ...(businessKey !== undefined && { businessKey }),
      ...(by !== undefined && { by }),
      ...(priority !== undefined && { priority }),
    };
    this.#tasks.priority = priority ?? null;
    this.#tasks.editions = input.migrated?.editions ?? 0;
    if (snapshot === null && input.migrated !== undefined) {
      this.#resumeFrom(input.migrated.machine as ProcessSnapshot["machine"]);
      return;
    }
    if (snapshot === null) {
      this.#inbox.open();
      this.#apply({ kind: "started", at: this.#host.now(), ...input }, null);
      return;
    }
    const stored = snapshot.state as ProcessSnapshot;
    this.#resumeFrom(stored.machine, stored);
  }

  /** Continues from a stored state and issues its open commands again. */
  #resumeFrom(
    machine: ProcessSnapshot["machine"],
    { calls = [], actions: acts = 0 }: Partial<ProcessSnapshot> = {},
  ): void {
    this.#state = fromState(this.#parts.process, this.#state.environment, fromSnapshotState(machine));
    this.#calls.restore(calls);
    this.#inbox.open(acts);
    for (const command of [...this.#state.commands.values()]) this.#issue(command);
  }

  /** `location` is that of the record that caused the event. Null for the start of the run. */
  #apply(event: MachineEvent, location: string | null): void {
    const { commands, cancelled } = this.#observed(location, () => applyEvent(this.#state, event));
    for (const { element, incident } of this.#state.raised)
      if (incident !== null) this.#host.incident({ element, reason: incident.kind, message: incident.message });
    for (const location of cancelled) {
      this.#tasks.close(location, "cancelled");
      if (!this.#calls.cancel(location)) this.#host.cancelUnder(location, ELEMENT_LEFT);
    }
    for (const command of commands) this.#issue(command);
    if (this.#state.ending === null) {
      const isRequested = event.kind === "snapshot" || (this.#parts.snapshotAtJoins && this.#state.hasJoined);
      this.#snapshotIfDue(isRequested);
      return;
    }
    this.#tasks.closeAll();
    finish(this.#host, this.#state.ending);
  }

  /** Emits what `advance` does to the run, if anybody listens and the run has not passed this point before. */
  #observed<Result>(location: string | null, advance: () => Result): Result {
    const { events } = this.#parts;
    if (events?.isActive !== true || this.#host.ahead.hasHistory) return advance();
    const { runId, run, live } = this.#host;
    this.#events ??= new RunEvents(
      {
        runId,
        version: run.version,
        hasListener: (kind) => events.hasListener(kind),
        taskId: (task) => this.#tasks.idOf(task),
      },
      this.#state,
    );
    this.#events.observe(this.#state);
    const result = advance();
    if (this.#state.ending !== null) this.#events.ended();
    const found = this.#events.take();
    // A replayed record is durable.
    if (location === null || !live) events.emit(found);
    else events.emitAfter(runId, location, found);
    return result;
  }

  /**
   * Takes a snapshot every `snapshotEvery` records, less often for large states. So the cost per record does not grow with the
   * state. A requested snapshot is taken at once.
   */
  #snapshotIfDue(isRequested: boolean): void {
    this.#records += 1;
    const { rows } = this.#state;
    if (!isRequested && this.#records < Math.max(this.#parts.snapshotEvery, rows.size)) return;
    const snapshot: ProcessSnapshot = {
      machine: toSnapshotState(stateOf(this.#state)),
      calls: this.#calls.state,
      actions: this.#inbox.count,
    };
    // A snapshot that was too large is attempted again later, when the state may be smaller.
    this.#records = saveSnapshot(this.#host, snapshot) ? 0 : -rows.size;
  }

  #issue(command: Command): void {
    const settle = (completion: Completion): void => this.#onCompletion(command.location, completion);
    switch (command.kind) {
      case "work":
      case "listener":
        issueJobStep(this.#host, { ...this.#parts, ...this.#inherited }, this.#state, command, settle);
        return;
      case "call":
        this.#calls.start(command);
        return;
      case "task":
        issueWait(this.#host, command, settle, this.#tasks.open(this.#state, command));
        return;
      case "timer":
      case "due":
      case "message":
      case "signal":
        issueWait(this.#host, command, settle);
        return;
      case "overdue":
        emitOverdue(this.#host, command, this.#tasks.idOf(command.task), () => this.#onSent(command.location));
        return;
      case "publish":
      case "correlate":
      case "broadcast":
      case "escalate":
        send(this.#host, command, () => this.#onSent(command.location));
    }
  }

  #onSent(location: string): void {
    this.#apply({ kind: "sent", at: this.#host.now(), location }, location);
  }

  /** A completion of a cancelled command is ignored. */
  #onCompletion(location: string, completion: Completion): void {
    const command = this.#state.commands.get(location);
    if (command === undefined) return;
    this.#tasks.close(location, "completed");
    this.#apply(eventOf({ runId: this.#host.runId, at: this.#host.now() }, command, completion), location);
  }

  #onInboxMessage(message: InboxMessage): void {
    const at = this.#host.now();
    const received = this.#inbox.location;
    if (message.kind === "action") {
      this.#apply({ ...message.action, at }, received);
      return;
    }
    const location = this.#calls.callStartedAt(message.location);
    if (location !== null)
      this.#apply({ kind: "escalated", at, location, code: message.code, variables: message.variables }, received);
  }
}

/** The variables that a call activity passes to the called process. */
function callVariables(state: WorkingState, id: number): Variables {
  const row = state.rows.get(id);
  const element = state.process.elements.get(row?.element ?? "");
  const isPartly = element?.type === "callActivity" && element.passes === "inputs";
  return isPartly ? (row?.variables ?? {}) : variablesOfRow(state, id);
}

function finish(host: ProgramHost, ending: Ending): void {
  if (ending.kind === "completed") {
    host.finish({ kind: "completed", output: ending.variables });
    return;
  }
  const error = new PawlError("BPMN_ERROR", ending.message);
  host.finish({ kind: "failed", error: Object.assign(error, { errorCode: ending.code, variables: ending.variables }) });
}

type WaitCommand = Extract<Command, { kind: "timer" | "due" | "message" | "signal" | "task" }>;

/** Issues the wait of an element as a wait of the run. */
function issueWait(
  host: ProgramHost,
  command: WaitCommand,
  settle: (completion: Completion) => void,
  documents?: readonly StoredDocument[],
): void {
  const { arms, record } = waitOf(command);
  host.issue({
    kind: "wait",
    record,
    location: command.location,
    issuedAt: host.now(),
    arms,
    count: 1,
    many: false,
    until: command.kind === "timer" || command.kind === "due" ? command.dueAt : null,
    atDeadline: { outcome: "ok", detail: null },
    settle,
    ...(documents !== undefined && { documents }),
  });
}

function waitOf(command: WaitCommand): { readonly arms: readonly Arm[]; readonly record: RecordKind } {
  if (command.kind === "timer" || command.kind === "due") return { arms: [], record: "sleep" };
  if (command.kind === "task") {
    return { arms: [{ kind: "message", name: taskMessage(command.location), as: TASK_DONE }], record: "listen" };
  }
  const topic = command.kind === "message" ? messageTopic(command.name, command.key) : signalTopic(command.name);
  // The record contains the topic, so that a rewind can return the event to it.
  return { arms: [{ kind: "event", topic, as: topic }], record: "event" };
}

/** Converts a completion into a machine event. */
export function eventOf(
  { runId, at }: { readonly runId: string; readonly at: number },
  command: Command,
  completion: Completion,
): MachineEvent {
  const { location } = command;
  if (completion.outcome === "timedOut") return { kind: "completed", at, location, variables: {}, value: null };
  if (completion.outcome === "failed") return failed(at, command, completion.error);
  const { value } = completion;
  if (command.kind === "work" || command.kind === "listener") {
    const done = value as JobResult;
    if (done.kind === "threw") return { ...done, at, location };
    return { kind: "completed", at, location, variables: {}, value: done.value };
  }
  if (command.kind === "call") return { kind: "completed", at, location, variables: {}, value };
  if (command.kind === "timer" || command.kind === "due")
    return { kind: "completed", at, location, variables: {}, value: null };
  const { value: carried, sentAt } = value as { readonly value: Partial<MessageValue>; readonly sentAt: number };
  const isEcho = command.kind === "signal" && (carried.from === runId || sentAt < command.since);
  if (isEcho) return { kind: "ownSignal", at, location };
  const variables = carried.variables ?? {};
  return { kind: "completed", at, location, variables, value: variables };
}

function failed(at: number, { kind, location }: Command, error: Error): MachineEvent {
  const { message } = error;
  if (kind !== "call") {
    const reason = "isNoHandler" in error ? "noHandler" : "failed";
    return { kind: "failed", at, location, message, reason };
  }
  const cause = error.cause instanceof Error ? error.cause : null;
  const thrown = cause as {
    readonly code?: unknown;
    readonly errorCode?: unknown;
    readonly variables?: unknown;
  } | null;
  const isError = thrown?.code === "BPMN_ERROR" || cause?.name === "BpmnError";
  if (thrown === null || !isError) return { kind: "failed", at, location, message, reason: "call" };
  const code = String(thrown.errorCode ?? thrown.code);
  const variables = (thrown.variables ?? {}) as Variables;
  return { kind: "threw", at, location, code, message: cause?.message ?? message, variables };
}

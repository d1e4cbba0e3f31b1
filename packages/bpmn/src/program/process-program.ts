import {
  type Arm,
  type Completion,
  PawlError,
  type ProgramFactory,
  type ProgramHost,
  type RecordKind,
  type StoredDocument,
} from "pawl";
import { take } from "../machine/advance.ts";
import type { Command, Ending, MachineEvent, Variables } from "../machine/state.ts";
import { visibleFrom } from "../machine/variables.ts";
import { createLive, type Live, stateOf, thaw } from "../machine/working-state.ts";
import type { Expression, Process, RetrySetting } from "../model/process.ts";
import { type Called, Calls } from "./call-activities.ts";
import type { HandlerTable } from "./handlers.ts";
import { issueStep, type WorkDone } from "./job-step.ts";
import { type Acted, Inbox } from "./operator-inbox.ts";
import { tell, tellOverdue } from "./outgoing-messages.ts";
import type { ProcessInput } from "./process-input.ts";
import { type Kept, keep, keptState, stateIn } from "./process-snapshot.ts";
import { TaskRows } from "./task-documents.ts";
import { type Carried, messageTopic, signalTopic, taskMessage } from "./topics.ts";

export interface ProgramParts {
  readonly process: Process;
  readonly table: HandlerTable;
  readonly retry: RetrySetting;
  evaluate(expression: Expression, variables: Variables): unknown;
  /** Which workflow a call activity means. */
  resolve(called: string, version: number | null): Promise<Called> | Called;
  /** A snapshot is kept after so many records. */
  readonly snapshotEvery: number;
}

const NOT_NEEDED = new Error("the element was left: nobody waits for this any more");

/** Interprets one process run: completions become events of the machine, its commands become the kernel's. */
export function processProgram(parts: ProgramParts): ProgramFactory {
  return (host) => {
    const program = new ProcessProgram(parts, host);
    return { start: (input, snapshot) => program.start(input as ProcessInput, snapshot) };
  };
}

class ProcessProgram {
  readonly #parts: ProgramParts;
  readonly #host: ProgramHost;
  readonly #calls: Calls;
  readonly #inbox: Inbox;
  readonly #tasks: TaskRows;
  #live: Live;
  #records = 0;
  #businessKey: string | null = null;

  constructor(parts: ProgramParts, host: ProgramHost) {
    this.#parts = parts;
    this.#host = host;
    const environment = { evaluate: parts.evaluate, isCalled: host.run.parent !== null };
    this.#live = createLive(parts.process, environment);
    this.#calls = new Calls(host, {
      resolve: parts.resolve,
      businessKey: () => this.#businessKey,
      variablesOf: (row) => visibleFrom(this.#live, row),
      onEnd: (place, completion) => this.#settle(place, completion),
    });
    this.#inbox = new Inbox(host, (acted) => this.#acted(acted));
    this.#tasks = new TaskRows(host);
  }

  start(input: ProcessInput, snapshot: { readonly state: unknown } | null): void {
    this.#businessKey = input.businessKey ?? null;
    this.#tasks.editions = input.migrated?.editions ?? 0;
    if (snapshot === null && input.migrated !== undefined) {
      this.#goOn(input.migrated.machine as Kept["machine"]);
      return;
    }
    if (snapshot === null) {
      this.#inbox.open();
      this.#take({ kind: "started", at: this.#host.now(), ...input });
      return;
    }
    const kept = snapshot.state as Kept;
    this.#goOn(kept.machine, kept);
  }

  /** From a state of before: what it had open is asked for again. */
  #goOn(machine: Kept["machine"], { calls = [], acts = 0 }: Partial<Kept> = {}): void {
    this.#live = thaw(this.#parts.process, this.#live.environment, stateIn(machine));
    this.#calls.restore(calls);
    this.#inbox.open(acts);
    for (const command of [...this.#live.commands.values()]) this.#issue(command);
  }

  #take(event: MachineEvent): void {
    const { commands, withdrawn } = take(this.#live, event);
    for (const place of withdrawn) {
      this.#tasks.close(place, "cancelled");
      if (!this.#calls.withdraw(place)) this.#host.cancelUnder(place, NOT_NEEDED);
    }
    for (const command of commands) this.#issue(command);
    if (this.#live.ending === null) {
      this.#keep();
      return;
    }
    this.#tasks.closeAll();
    finish(this.#host, this.#live.ending);
  }

  /** Now and then, and more rarely the more there is to keep: so the cost of a record does not depend on it. */
  #keep(): void {
    this.#records += 1;
    const { rows } = this.#live;
    if (this.#records < Math.max(this.#parts.snapshotEvery, rows.size)) return;
    const kept: Kept = { machine: keptState(stateOf(this.#live)), calls: this.#calls.state, acts: this.#inbox.count };
    // One that could not be kept may be smaller when about as much again has happened.
    this.#records = keep(this.#host, kept) ? 0 : -rows.size;
  }

  #issue(command: Command): void {
    const settle = (completion: Completion): void => this.#settle(command.place, completion);
    switch (command.kind) {
      case "work":
        issueStep(this.#host, { ...this.#parts, businessKey: this.#businessKey }, this.#live, command, settle);
        return;
      case "call":
        this.#calls.begin(command);
        return;
      case "task":
        issueWait(this.#host, command, settle, this.#tasks.open(this.#live, command));
        return;
      case "timer":
      case "due":
      case "message":
      case "signal":
        issueWait(this.#host, command, settle);
        return;
      case "overdue":
        tellOverdue(this.#host, command, this.#tasks.idOf(command.task), () => this.#told(command.place));
        return;
      case "publish":
      case "correlate":
      case "broadcast":
      case "escalate":
        tell(this.#host, command, () => this.#told(command.place));
    }
  }

  #told(place: string): void {
    this.#take({ kind: "told", at: this.#host.now(), place });
  }

  /** A completion that comes for what the machine has withdrawn is none of its. */
  #settle(place: string, completion: Completion): void {
    const command = this.#live.commands.get(place);
    if (command === undefined) return;
    this.#tasks.close(place, "completed");
    this.#take(eventOf({ runId: this.#host.runId, at: this.#host.now() }, command, completion));
  }

  #acted(acted: Acted): void {
    const at = this.#host.now();
    if (acted.kind === "act") {
      this.#take({ ...acted.act, at });
      return;
    }
    const place = this.#calls.placeOf(acted.location);
    if (place !== null) this.#take({ kind: "escalated", at, place, code: acted.code, variables: acted.variables });
  }
}

function finish(host: ProgramHost, ending: Ending): void {
  if (ending.kind === "completed") {
    host.finish({ kind: "completed", output: ending.variables });
    return;
  }
  const error = new PawlError("BPMN_ERROR", ending.message);
  host.finish({ kind: "failed", error: Object.assign(error, { errorCode: ending.code, variables: ending.variables }) });
}

type Waited = Extract<Command, { kind: "timer" | "due" | "message" | "signal" | "task" }>;

/** What an element waits for is a wait of the run. */
export function issueWait(
  host: ProgramHost,
  command: Waited,
  settle: (completion: Completion) => void,
  documents?: readonly StoredDocument[],
): void {
  const { arms, record } = waitOf(command);
  host.issue({
    kind: "wait",
    record,
    location: command.place,
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

function waitOf(command: Waited): { readonly arms: readonly Arm[]; readonly record: RecordKind } {
  if (command.kind === "timer" || command.kind === "due") return { arms: [], record: "sleep" };
  if (command.kind === "task") {
    return { arms: [{ kind: "message", name: taskMessage(command.place), as: "task" }], record: "listen" };
  }
  const topic = command.kind === "message" ? messageTopic(command.name, command.key) : signalTopic(command.name);
  return { arms: [{ kind: "event", topic, as: command.kind }], record: "event" };
}

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

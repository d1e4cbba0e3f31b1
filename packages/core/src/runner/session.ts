import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp, Outcomes } from "../model/op.ts";
import type { JournalRecord, Outcome } from "../model/record.ts";
import type { Payload, Run } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import { Deadlines } from "../runtime/deadlines.ts";
import type { Loaded } from "../store/store.ts";
import type { Body } from "./body.ts";
import type { Command, Completion, StepCommand, WaitCommand } from "./command.ts";
import { divergedAtEnd, divergedAtRecord } from "./divergence.ts";
import { Draft } from "./draft.ts";
import { endState } from "./ending.ts";
import { failurePayload } from "./failure-payload.ts";
import { JournalCursor } from "./journal-cursor.ts";
import type { Ending, Program, ProgramFactory, ProgramHost } from "./program.ts";
import { received } from "./received.ts";
import type { Interpreter, SessionWorld } from "./session-world.ts";
import { openRetries, readSnapshot, type Snapshot, writeSnapshot } from "./snapshot.ts";
import { Steps, type TryEnd } from "./steps.ts";
import { Waits } from "./waits.ts";

/** Working; resting until something comes; done: its end is decided; gone: nothing it does counts any more. */
type Phase = "working" | "resting" | "done" | "gone";

/** A completion that is recorded and not yet handed to the program. */
interface Completed {
  readonly command: Command;
  readonly completion: Completion;
  readonly seq: number;
  readonly at: number;
}

/**
 * Interprets one run and knows no other.
 *
 * R1. Completions reach the program in the order of their seq, one at a time, each when the program has come to rest from the
 *     one before: in replay as it was live.
 * R2. A completion is handed to the program at once; no step body starts before every earlier record is durable.
 * R3. The presence of a record decides replay, never its value.
 * R4. A session rests when no body runs or is about to: then its waits are committed, with all else it has to add.
 * R5. A session that was refused, abandoned or forgotten changes nothing any more.
 */
export class Session implements ProgramHost, Interpreter {
  readonly runId: string;
  readonly run: Run;
  readonly #world: SessionWorld;
  readonly #program: Program;
  readonly #cursor: JournalCursor;
  readonly #draft: Draft;
  readonly #waits = new Waits();
  readonly #steps: Steps;
  readonly #deadlines = new Deadlines<StepCommand | WaitCommand>();
  /** Commands without a completion, by location, in the order in which they were issued. */
  readonly #open = new Map<string, Command>();
  readonly #completed: Completed[] = [];
  /** Issued since the last rest; while records are replayed, nothing is fresh. */
  #fresh: Command[] = [];
  #live = false;
  #phase: Phase = "working";
  #restAsked = false;
  #enlisted = false;
  /** The status that the row has once everything in the draft is applied. */
  #told: "running" | "suspended" = "running";
  #waitsChanged = false;
  #ending: Ending | null = null;
  #end: RunState | null = null;
  #snapshot: Snapshot | null;
  /** The newest record that bodies have to wait for, and the last one delivered. */
  #firmSeq: number;
  #deliveredSeq: number;
  #now: number;
  #inboxSeen: number;
  #inbox: readonly InboxEntry[];
  #sent: { readonly op: AppendOp | null; readonly seq: number } = { op: null, seq: 0 };
  #controller: AbortController | null = null;
  #bytes = 0;

  constructor(world: SessionWorld, loaded: Loaded, createProgram: ProgramFactory) {
    const { run, records, snapshot } = loaded;
    this.#world = world;
    this.run = run;
    this.runId = run.id;
    this.#snapshot = snapshot === null ? null : readSnapshot(world.codec, snapshot);
    this.#cursor = new JournalCursor(records);
    this.#deliveredSeq = this.#snapshot?.seq ?? run.baseSeq;
    this.#now = this.#snapshot?.at ?? run.startedAt ?? run.createdAt;
    const last = records.at(-1);
    this.#draft = new Draft(world.now, last?.seq ?? this.#deliveredSeq, last?.at ?? this.#now);
    this.#firmSeq = this.#draft.seq;
    this.#inboxSeen = run.inboxLast;
    this.#inbox = loaded.inbox;
    this.#steps = new Steps(world, run.id, this.#firmSeq, (body, end) => this.#tried(body, end));
    this.#program = createProgram(this);
  }

  get seq(): number {
    return this.#draft.seq;
  }

  /** The next deadline among its open commands. */
  get until(): number | null {
    return this.#deadlines.earliest(this.#isOpen);
  }

  get resting(): boolean {
    return this.#phase === "resting";
  }

  /** How it ended, once `ended` was called. */
  get end(): RunState | null {
    return this.#end;
  }

  /** What the program may hold of payloads, estimated: a resting session counts by it. */
  get bytes(): number {
    return this.#bytes;
  }

  get live(): boolean {
    return this.#live;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  start(): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    if (this.#cancelledBy(inbox)) return;
    this.#waits.arrive(inbox);
    const { codec } = this.#world;
    this.#world.within(this.runId, () => this.#program.start(codec.decode(this.run.input), this.#snapshot));
    this.#askRest();
  }

  /** Something has arrived: what the store holds of the run. */
  refresh(run: Run, inbox: readonly InboxEntry[]): void {
    if (this.#over) return;
    const news = inbox.filter((entry) => entry.n > this.#inboxSeen);
    this.#inboxSeen = Math.max(this.#inboxSeen, run.inboxLast);
    if (this.#cancelledBy(news)) return;
    this.#waits.arrive(news);
    // The store has taken the run as woken: it has to hear what the run waits for from here on.
    if (this.#waits.size > 0) this.#waitsChanged = true;
    this.wake();
  }

  /** A deadline may have come. */
  wake(): void {
    if (this.#over) return;
    if (this.#phase === "resting") {
      this.#phase = "working";
      this.#waitsChanged = true;
      this.#world.woke(this);
    }
    this.#askRest();
  }

  /** Gives the run back in the middle of work; what is gathered is kept. */
  release(): void {
    if (!this.#over) this.#endAs({ status: "released", at: this.#draft.at });
  }

  /** Nothing it does counts from here on; its bodies are told why. */
  abandon(reason: Error): void {
    this.#phase = "gone";
    this.#abort(reason);
  }

  now(): number {
    return this.#now;
  }

  issue(command: Command): void {
    if (this.#over || this.#ending !== null) return;
    this.#open.set(command.location, command);
    if (command.kind === "step") Object.assign(command, this.#snapshot?.retries[command.location]);
    if (this.#live) this.#fresh.push(command);
    this.wake();
  }

  finish(ending: Ending): void {
    if (this.#over || this.#ending !== null) return;
    this.#ending = ending;
    this.wake();
  }

  snapshot(state: unknown): void {
    if (!this.#live || this.#over) return;
    const snapshot: Snapshot = { seq: this.#deliveredSeq, at: this.#now, state, retries: openRetries(this.#open.values()) };
    this.#draft.document(writeSnapshot(this.#world.codec, this.runId, snapshot));
  }

  takeAppend(): AppendOp | null {
    this.#enlisted = false;
    if (this.#phase === "gone") return null;
    const op = this.#draft.takeOp(this.runId, this.run.epoch);
    this.#sent = { op, seq: this.#draft.seq };
    return op;
  }

  appended(outcome: Outcomes["append"]): void {
    if (this.#phase === "gone") return;
    if (outcome.kind === "lost") {
      this.#world.lost(this, outcome.reason);
      return;
    }
    const { op, seq } = this.#sent;
    const state = op?.state ?? null;
    if (op !== null) this.#world.committed(this, op);
    if (this.#phase === "done") {
      if (state === this.#end) this.#world.ended(this);
      return;
    }
    this.#steps.durable(seq);
    const still = !this.#restAsked && !this.#enlisted && !this.#steps.busy;
    if (state?.status === "suspended" && still) {
      this.#phase = "resting";
      this.#world.rested(this);
    }
  }

  get #over(): boolean {
    return this.#phase === "gone" || this.#phase === "done";
  }

  #askRest(): void {
    if (this.#restAsked) return;
    this.#restAsked = true;
    this.#world.turns.atRest(this.#rest);
  }

  /** The program has come to rest: the one place from which it is moved on. */
  readonly #rest = (): void => {
    this.#restAsked = false;
    if (this.#over) return;
    if (!this.#cursor.done) {
      this.#replay();
      return;
    }
    if (!this.#live) {
      this.#live = true;
      this.#fresh = [...this.#open.values()];
    }
    this.#admit();
    const next = this.#completed.shift();
    if (this.#ending !== null) {
      this.#endAs(endState(this.#world.codec, this.#ending, { id: this.runId, seq: this.seq, at: this.#draft.at }));
    } else if (next !== undefined) {
      this.#hand(next);
    } else {
      this.#match();
      this.#expire();
      if (this.#completed.length === 0) this.#settleDown();
    }
  };

  /** Feeds the next record to the program, which must have asked for it. */
  #replay(): void {
    for (let record = this.#cursor.next; record !== null; record = this.#cursor.next) {
      const command = this.#open.get(record.location);
      if (command === undefined || !fits(record, command)) {
        this.#diverge(this.#ending === null ? divergedAtRecord(this.runId, record, this.#open) : divergedAtEnd(this.runId, record));
        return;
      }
      this.#cursor.advance();
      this.#bytes += record.payload?.length ?? 0;
      if (record.kind === "retry" && command.kind === "step") {
        command.attempts = record.attempts;
        command.retryAt = Number(record.detail);
      } else if (this.#ending === null) {
        this.#hand({ command, completion: this.#completionOf(record), seq: record.seq, at: record.at });
        return;
      }
    }
    this.#askRest();
  }

  #completionOf(record: JournalRecord): Completion {
    const value = this.#world.codec.decode(record.payload);
    switch (record.outcome) {
      case "ok":
        return { outcome: "ok", value, detail: record.detail };
      case "failed":
        return { outcome: "failed", error: toError(value as Failure), detail: record.detail };
      case "timedOut":
        return { outcome: "timedOut" };
    }
  }

  /** Fresh commands take effect: posts complete, waits open, steps start. */
  #admit(): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    this.#fresh = [];
    for (const command of fresh) {
      if (command.kind === "post") {
        this.#draft.post(command.post);
        const { payload, value } = this.#world.codec.roundTrip(command.value, `result of ${command.location}`);
        this.#complete(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail: command.detail }, detail: command.detail });
      } else if (command.kind === "wait") {
        this.#waits.add(command);
        if (command.until !== null) this.#deadlines.add(command.until, command);
        this.#waitsChanged = true;
      } else if (command.retryAt > this.#world.now()) {
        this.#deadlines.add(command.retryAt, command);
      } else {
        this.#steps.hold(command, this.#firmSeq);
      }
    }
  }

  #hand({ command, completion, seq, at }: Completed): void {
    this.#open.delete(command.location);
    this.#now = at;
    this.#deliveredSeq = seq;
    command.settle(completion);
    this.#askRest();
  }

  /** Waits that the inbox can end. */
  #match(): void {
    for (let match = this.#waits.takeMatch(); match !== null; match = this.#waits.takeMatch()) {
      this.#receive(match.wait, match.entries);
    }
  }

  #receive(wait: WaitCommand, entries: readonly InboxEntry[]): void {
    for (const entry of entries) this.#draft.take(entry.n);
    this.#waitsChanged = true;
    this.#complete(wait, received(this.#world.codec, wait, entries));
  }

  /** Deadlines that have come. What the inbox holds goes before them. */
  #expire(): void {
    const now = this.#world.now();
    for (let due = this.#deadlines.takeDue(now, this.#isOpen); due !== null; due = this.#deadlines.takeDue(now, this.#isOpen)) {
      if (due.kind === "step") {
        due.retryAt = 0;
        this.#steps.hold(due, this.#firmSeq);
        continue;
      }
      this.#draft.guardTime(due.until ?? 0);
      if (due.arms.length > 0) this.#draft.guardInbox(this.#inboxSeen);
      if (due.many) {
        this.#receive(due, this.#waits.takeRest(due));
        continue;
      }
      this.#waits.remove(due);
      this.#waitsChanged = true;
      const { outcome, detail } = due.atDeadline;
      const completion: Completion = outcome === "ok" ? { outcome, value: undefined, detail } : { outcome };
      this.#complete(due, { outcome, payload: null, completion, detail });
    }
  }

  readonly #isOpen = (thing: StepCommand | WaitCommand, at: number): boolean =>
    thing.kind === "wait" ? this.#waits.has(thing) : this.#open.get(thing.location) === thing && thing.retryAt === at;

  /** One try of a step has ended. */
  #tried(body: Body, end: TryEnd): void {
    if (this.#over) return;
    const { step, attempt, startedAt } = body;
    if (end.kind === "completed") {
      this.#complete(step, end, body);
      return;
    }
    step.attempts = attempt;
    step.retryAt = end.retryAt;
    this.#deadlines.add(end.retryAt, step);
    const { location } = step;
    this.#draft.record({ kind: "retry", location, outcome: "failed", payload: end.payload, attempts: attempt, startedAt, detail: String(end.retryAt) });
    this.#firmSeq = this.seq;
    this.#enlist();
    this.#askRest();
  }

  #complete(
    command: Command,
    end: { readonly outcome: Outcome; readonly payload: Payload; readonly completion: Completion; readonly detail: string | null },
    body?: Body,
  ): void {
    const { seq, at } = this.#draft.record({
      kind: command.record,
      location: command.location,
      outcome: end.outcome,
      payload: end.payload,
      attempts: body?.attempt ?? 0,
      startedAt: body?.startedAt ?? command.issuedAt,
      detail: end.detail,
    });
    this.#completed.push({ command, completion: end.completion, seq, at });
    this.#bytes += end.payload?.length ?? 0;
    // An ephemeral record is written with whatever comes next; nothing waits for it.
    if (command.kind !== "step" || !command.ephemeral) {
      this.#firmSeq = seq;
      this.#enlist();
    }
    this.#askRest();
  }

  #settleDown(): void {
    const status = this.#steps.busy ? "running" : "suspended";
    // With nothing open, the code awaits something of its own: it is working.
    if (status === "suspended" && this.#open.size === 0) return;
    if (this.#told === status && !this.#waitsChanged) return;
    const wait = this.#waits.toWait(this.until);
    const inboxSeen = this.#inboxSeen;
    this.#draft.state(status === "running" ? { status, wait: this.#waits.size > 0 ? wait : null, inboxSeen } : { status, wait, inboxSeen });
    this.#told = status;
    this.#waitsChanged = false;
    this.#enlist();
  }

  #diverge(error: PawlError): void {
    this.#world.log("error", error.message, { run: this.runId, code: error.code });
    this.#endAs({ status: "paused", reason: failurePayload(this.#world.codec, error, "divergence") });
  }

  #cancelledBy(news: readonly InboxEntry[]): boolean {
    const cancel = news.find((entry) => entry.kind === "cancel");
    if (cancel === undefined) return false;
    this.#draft.take(cancel.n);
    this.#endAs({ status: "cancelled", outcome: cancel.value, at: this.#draft.at });
    return true;
  }

  #endAs(state: RunState): void {
    this.#phase = "done";
    this.#end = state;
    this.#draft.state(state);
    this.#abort(new PawlError("RUN_CANCELLED", `run ${this.runId} is ${state.status}: what this step brings is dropped`));
    this.#enlist();
  }

  #abort(reason: Error): void {
    this.#steps.abort(reason);
    this.#controller?.abort(reason);
  }

  #enlist(): void {
    if (this.#enlisted) return;
    this.#enlisted = true;
    this.#world.enlist(this);
  }
}

function fits(record: JournalRecord, command: Command): boolean {
  return record.kind === command.record || (record.kind === "retry" && command.kind === "step");
}

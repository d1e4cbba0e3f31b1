import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp, Outcomes } from "../model/op.ts";
import { factsOf, type Payload, type Run, type RunFacts } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { createSessionState } from "./create-session-state.ts";
import { BEHIND_MS, EARLY_MS, ExclusiveAppends } from "./exclusive-append.ts";
import { ProgramDriver, recordAttempt } from "./program-driver.ts";
import { droppedWith, endState, pausedState } from "./run-end.ts";
import type { DriverOwner, RunSession, SessionServices, SessionStateListener } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { readSnapshot } from "./snapshot.ts";
import type { AttemptResult, StepAttempt } from "./step-attempt.ts";
import { StoredState } from "./stored-state.ts";
import { completionOfWait } from "./wait-completion.ts";

/** Working; resting until something comes; done: its end is decided; gone: nothing it does counts any more. */
type Phase = "working" | "parked" | "done" | "gone";

/**
 * Interprets one run and knows no other. Its program's way is the course's matter (`ProgramDriver.1` and `.2`).
 *
 * 1. A completion is handed to the program at once, when the program is at rest; no step body starts before every earlier
 *    record is durable.
 * 2. A session rests when no body runs or is about to: then its waits are committed, with all else it has to add.
 * 3. A session that was refused, abandoned or forgotten changes nothing any more.
 */
export class Session implements RunSession, SessionStateListener, DriverOwner {
  readonly kind = "source";
  readonly runId: string;
  readonly run: RunFacts;
  readonly #services: SessionServices;
  readonly #state: SessionState;
  readonly #driver: ProgramDriver;
  readonly #stored = new StoredState();
  readonly #exclusive: ExclusiveAppends;
  /** What is called when the program has come to rest; null where none is asked for: hot runs are many. */
  #idle: (() => void) | null = null;
  #phase: Phase = "working";
  #idleRequested = false;
  endState: RunState | null = null;
  #sent: AppendOp | null = null;
  #controller: AbortController | null = null;
  #unwatched: (() => void) | null = null;

  constructor(services: SessionServices, loaded: Loaded, createProgram: ProgramFactory) {
    this.#services = services;
    this.run = factsOf(loaded.run);
    this.runId = loaded.run.id;
    const snapshot = loaded.snapshot === null ? null : readSnapshot(services.codec, loaded.snapshot);
    this.#state = createSessionState(services, loaded, snapshot, this);
    this.#exclusive = new ExclusiveAppends(this.#state, services, this);
    this.#driver = new ProgramDriver(
      { owner: this, state: this.#state, services, run: this.run },
      loaded,
      snapshot,
      createProgram,
    );
  }

  get seq(): number {
    return this.#state.pending.seq;
  }

  get inboxSeen(): number {
    return this.#state.open.inboxSeen;
  }

  get nextDeadline(): number | null {
    return this.#state.open.nextDeadline;
  }

  get isParked(): boolean {
    return this.#phase === "parked";
  }

  get ownershipUnknown(): boolean {
    return this.#state.steps.ownershipUnknown;
  }

  get isCompensating(): boolean {
    return this.#state.pending.undoState === "underWay";
  }

  get bytes(): number {
    return this.#state.completions.bytes;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  onFilled(): void {
    this.#services.events.onAppendReady(this);
  }

  onAdded(): void {
    this.#requestIdle();
  }

  onAttemptEnd(body: StepAttempt, end: AttemptResult): void {
    if (!this.#hasEnded) recordAttempt(this.#state, body, end);
  }

  onTransaction(body: StepAttempt): void {
    this.#exclusive.add(body);
  }

  start({ run, inbox }: Loaded): void {
    if (this.#cancelledBy(inbox)) return;
    this.#state.open.arrive(inbox);
    this.#unwatched = startProgram(this.#services, this.#driver, run.input);
    this.#requestIdle();
  }

  requireOwnershipCheck(): void {
    this.#state.steps.requireOwnershipCheck();
  }

  refresh(run: Run, inbox: readonly InboxEntry[]): void {
    if (this.#hasEnded) return;
    this.#state.steps.ownershipConfirmed();
    this.#arrive(this.#state.open.unseen(run, inbox));
  }

  receive(entries: readonly InboxEntry[]): boolean {
    if (this.#hasEnded) return true;
    if (!this.#state.open.acceptIfNext(entries)) return false;
    this.#arrive(entries);
    return true;
  }

  wake(): void {
    if (this.#hasEnded) return;
    if (this.#phase === "parked") {
      this.#phase = "working";
      this.#stored.markWoken();
      this.#services.events.onUnparked(this);
    }
    this.#requestIdle();
  }

  release(): void {
    if (!this.#hasEnded) this.#endAs({ status: "released", at: this.#state.pending.at });
  }

  abandon(reason: Error): void {
    this.evict();
    this.#abort(reason);
    this.#driver.releaseResources();
  }

  evict(): void {
    this.#phase = "gone";
    this.#unwatched?.();
  }

  takeAppend(): AppendOp | null {
    if (this.#phase === "gone" || this.#exclusive.inFlight) return null;
    this.#sent =
      this.#state.pending.takeOp(this.runId, this.run.epoch) ??
      (this.#hasEnded ? null : this.#exclusive.takeOp(this.run));
    this.#stored.sent(this.#sent?.state ?? null);
    return this.#sent;
  }

  appended(outcome: Outcomes["append"]): void {
    if (this.#phase === "gone") return;
    // What was gathered while an append was under way by itself was not taken.
    if (this.#exclusive.inFlight && this.#state.pending.commitRequested) this.#services.events.onAppendReady(this);
    const answer = this.#exclusive.answered(outcome);
    if (answer.kind === "durable") {
      if (answer.rowTold) this.#stored.adopt(this.#state);
      this.#onDurable();
    } else if (answer.kind === "behind") {
      this.#catchUp();
    } else if (answer.kind === "early") {
      this.#services.time.wakeAt(this.#services.time.now() + EARLY_MS, () => this.wake());
    } else if (answer.kind === "lost") {
      this.#services.events.onAppendRefused(this, answer.reason);
    }
  }

  #arrive(news: readonly InboxEntry[]): void {
    if (this.#cancelledBy(news)) return;
    this.#state.open.arrive(news);
    this.#exclusive.caughtUp();
    this.#stored.markWoken();
    this.wake();
  }

  /** Has the run read until its inbox is known again: a read may fail, and nothing else may ever come for the run. */
  #catchUp(): void {
    if (this.#hasEnded || !this.#exclusive.inboxStale) return;
    this.#services.events.onInboxStale(this);
    this.#services.time.wakeAt(this.#services.time.now() + BEHIND_MS, () => this.#catchUp());
  }

  get #hasEnded(): boolean {
    return this.#phase === "gone" || this.#phase === "done";
  }

  /** What was sent is durable. */
  #onDurable(): void {
    const op = this.#sent;
    this.#sent = null;
    if (op !== null) this.#services.events.onCommitted(this, op);
    if (this.#phase === "done") {
      if (op?.state !== this.endState) return;
      this.#unwatched?.();
      this.#services.events.onEnded(this);
      return;
    }
    this.#state.steps.onDurable(op?.records.at(-1)?.seq ?? 0);
    if (this.#exclusive.waiting) this.#state.pending.requestCommit();
    this.#stored.stored(op?.state ?? null, this.#state);
    if (this.#exclusive.hasUnregisteredWait) this.wake();
    if (!this.#idleRequested) this.#parkIfIdle();
  }

  /** Its row says that it rests. One that was woken for nothing while that was written has nothing more to write. */
  #parkIfIdle(): void {
    if (this.#phase !== "working" || !this.#stored.isParked(this.#state)) return;
    this.#phase = "parked";
    this.#idle = null;
    this.#driver.releaseResources();
    this.#services.events.onParked(this);
  }

  #requestIdle(): void {
    if (this.#idleRequested) return;
    this.#idleRequested = true;
    this.#services.time.eventLoop.whenIdle(this.#idle ?? this.#createIdleCallback());
  }

  /** Apart, so that only a session that asks for the first time needs a scope for it. */
  #createIdleCallback(): () => void {
    const rest = (): void => this.#onIdle();
    this.#idle = rest;
    return rest;
  }

  /** The program has come to rest: the one place from which it is moved on. */
  #onIdle(): void {
    this.#idleRequested = false;
    if (this.#phase === "working" && this.#driver.replayStep()) this.#requestIdle();
    else this.#drive();
  }

  #drive(): void {
    if (this.#hasEnded || this.#exclusive.inFlight) return;
    if (!this.#driver.resourcesReady) {
      // A rest that was about to be written would be one that nothing ends.
      this.#stored.update(this.#state, true);
      return;
    }
    const move = this.#driver.step();
    switch (move.kind) {
      case "handed":
        this.#requestIdle();
        return;
      case "ended":
        this.#endAs(endState(this.#services.codec, move.ending, this.runId, this.#state.pending));
        return;
      case "stopped":
        this.#abort(droppedWith(this.runId, "undoes what it did"));
        if (move.isFresh) this.#stored.stopped(this.#state);
        this.#requestIdle();
        return;
      case "diverged":
        this.#endAs(pausedState(this.#services, this.runId, move.error));
        return;
      case "idle":
        // The program is at rest still: what has come is handed to it at once.
        if (findWorkOrPark(this.#state, this.#exclusive, this.#driver, this.#stored, this.#services.time.now))
          this.#drive();
        else this.#parkIfIdle();
    }
  }

  #cancelledBy(news: readonly InboxEntry[]): boolean {
    const cancel = news.find((entry) => entry.kind === "cancel");
    if (cancel === undefined || this.#driver.cancel(cancel)) return false;
    this.#state.pending.consumeEntry(cancel.n);
    this.#endAs({ status: "cancelled", outcome: cancel.value, at: this.#state.pending.at });
    return true;
  }

  #endAs(state: RunState): void {
    this.#phase = "done";
    this.endState = state;
    this.#state.pending.state(state);
    this.#driver.releaseResources();
    if (this.#state.steps.busy || this.#controller !== null) this.#abort(droppedWith(this.runId, `is ${state.status}`));
  }

  #abort(reason: Error): void {
    this.#exclusive.unwatchDeadlines();
    this.#state.steps.abort(reason);
    this.#controller?.abort(reason);
  }
}

/** Nothing is left to hand to the program: what has come and what is due is looked for; true if there is some. Else the row is told. */
export function findWorkOrPark(
  session: SessionState,
  own: ExclusiveAppends,
  driver: ProgramDriver,
  row: StoredState,
  now: () => number,
): boolean {
  const found = findWork(session, own, now);
  if (found !== "nothing") return found === "completions";
  if (driver.checkLimits("idle")) return true;
  row.update(session);
  // While bodies run, or the code awaits something of its own, the session itself sees to the deadlines beside them.
  if (session.steps.busy || session.open.size === 0) own.watchDeadlines();
  else own.unwatchDeadlines();
  return false;
}

/** Looks for what has come and what is due: completions are to be handed to the program, the store is to be asked whether a deadline has come, or there is nothing. */
export function findWork(
  session: SessionState,
  own: ExclusiveAppends,
  now: () => number,
): "completions" | "deadlines" | "nothing" {
  const { completions, pending, open } = session;
  matchInbox(session);
  if (completions.size > 0) return "completions";
  const due = open.hasDeadlines && own.findDue(now());
  if (due) pending.requestCommit();
  // A step that was tried again may have ended at once.
  if (completions.size > 0) return "completions";
  return due ? "deadlines" : "nothing";
}

/** Ends the waits that the inbox can end. */
export function matchInbox({ open, pending, completions, codec }: SessionState): void {
  for (let match = open.takeMatch(); match !== null; match = open.takeMatch()) {
    for (const entry of match.entries) pending.consumeEntry(entry.n);
    completions.add(match.wait, completionOfWait(codec, match.wait, match.entries));
  }
}

/** A history of more records is replayed without watching over the code: that would take longer than the replay itself. */
const WATCHED_RECORDS_MAX = 1_000;

/** Starts the program; gives what is to be called when code that is not watched is over, null where it is watched. */
export function startProgram(services: SessionServices, driver: ProgramDriver, input: Payload): (() => void) | null {
  const start = (): void => driver.start(input);
  if (driver.recordsLeft > WATCHED_RECORDS_MAX) return services.rejections.unwatched(driver.runId, start);
  services.rejections.watched(driver.runId, start);
  return null;
}

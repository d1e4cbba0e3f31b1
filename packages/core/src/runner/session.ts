import type { PawlError } from "../model/errors.ts";
import { type InboxEntry, isPauseRequest } from "../model/inbox.ts";
import type { AppendOp, Outcomes } from "../model/op.ts";
import { isUnreadable } from "../model/payload.ts";
import { factsOf, type Payload, type Run, type RunFacts } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import { EMPTY_CONTEXT } from "../runtime/async-context.ts";
import type { Loaded } from "../store/store.ts";
import type { ProgramFactory } from "../workflow/program.ts";
import { EARLY_MS, ExclusiveAppends, RELOAD_MS } from "./exclusive-append.ts";
import { ProgramDriver, recordAttempt } from "./program-driver.ts";
import { discardedError, endState, pausedState, stoppedError } from "./run-end.ts";
import type { DriverOwner, RunSession, SessionServices, SessionStateListener } from "./session-ports.ts";
import { createSessionState, type SessionState } from "./session-state.ts";
import { readSnapshot } from "./snapshot.ts";
import { type AttemptResult, abortIn, type StepAttempt } from "./step-attempt.ts";
import { completionOfWait } from "./wait-completion.ts";

/** A history of more records is replayed unwatched: watching would take longer than the replay itself. */
const WATCHED_RECORDS_MAX = 1_000;

/**
 * - `working`: executes the program.
 * - `parked`: suspended in memory, without a slot.
 * - `ended`: its end state is decided and waits for its commit.
 * - `discarded`: lost, abandoned or evicted.
 */
type Phase = "working" | "parked" | "ended" | "discarded";

/**
 * Executes one run in memory. `ProgramDriver` decides what its program receives and when.
 *
 * 1. A completion reaches the program as soon as the program is idle. No step body starts before every earlier record is durable.
 * 2. A session parks when no step is running or scheduled. Its waits are committed first, with everything else it has to append.
 * 3. A discarded session changes nothing: its appends are dropped and its steps aborted.
 * 4. One append is in flight at a time, so that each answer belongs to the append that was sent.
 * 5. A payload that cannot be read, and a mistake in the code, change nothing, and nothing more is delivered. Running steps end and are
 *    recorded, then the run is paused.
 * 6. A run that is requested to pause starts no step body, records the results of the running ones, and is paused then.
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
  /** The callback for `whenIdle`. Null in a parked session, to save memory. */
  #idle: (() => void) | null = null;
  #phase: Phase = "working";
  #idleRequested = false;
  endState: RunState | null = null;
  /** The payload that could not be read, while running steps end. */
  #unreadable: PawlError | null = null;
  /** The append that is not answered yet. */
  #sent: AppendOp | null = null;
  /** Whether the next batch takes this session's append. */
  #isEnlisted = false;
  #controller: AbortController | null = null;
  #unwatched: (() => void) | null = null;
  /** Cancels the timer that ends the grace of running steps. */
  #cancelGrace: (() => void) | null = null;
  /** Requests to pause the run. The newest has the reason. */
  #pauses: readonly InboxEntry[] | null = null;

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

  get runningSteps(): readonly string[] {
    return this.#state.steps.running;
  }

  get bytes(): number {
    return this.#state.completions.bytes;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  onFilled(): void {
    if (this.#isEnlisted) return;
    this.#isEnlisted = true;
    this.#services.events.onAppendReady(this);
  }

  onAdded(): void {
    this.#requestIdle();
  }

  onAttemptEnd(attempt: StepAttempt, result: AttemptResult): void {
    if (!this.#hasEnded) recordAttempt(this.#state, attempt, result);
  }

  onBlocked(location: string, ms: number): void {
    this.#services.events.onBlocked(this, location, ms);
  }

  onTransaction(attempt: StepAttempt): void {
    this.#exclusive.add(attempt);
  }

  start({ run, inbox }: Loaded): void {
    if (this.#cancelledBy(inbox)) return;
    this.#state.open.arrive(inbox);
    this.#notePauses(inbox);
    try {
      // No step is running, so a run that is requested to pause is paused at once.
      if (this.#pauses === null) this.#startProgram(run.input);
    } catch (error) {
      this.#stopReading(error);
    }
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
    this.#phase = "discarded";
    this.#unwatched?.();
  }

  takeAppend(): AppendOp | null {
    this.#isEnlisted = false;
    if (this.#phase === "discarded" || this.#sent !== null) return null;
    this.#sent = this.#state.pending.takeOp(this.runId, this.run.epoch) ?? this.#takeExclusive();
    this.#stored.sent(this.#sent?.state ?? null);
    return this.#sent;
  }

  #takeExclusive(): AppendOp | null {
    if (this.#hasEnded) return null;
    try {
      return this.#exclusive.takeOp(this.run);
    } catch (error) {
      this.#stopReading(error);
      return this.#state.pending.takeOp(this.runId, this.run.epoch);
    }
  }

  appended(outcome: Outcomes["append"]): void {
    if (this.#phase === "discarded") return;
    const op = this.#sent;
    this.#sent = null;
    // While an append is in flight, a batch takes no other append of this run.
    if (this.#state.pending.commitRequested) this.onFilled();
    const answer = this.#exclusive.answered(outcome);
    if (answer.kind === "durable") {
      if (answer.rowUpdated) this.#stored.adopt(this.#state);
      this.#onDurable(op);
    } else if (answer.kind === "stale") {
      this.#catchUp();
    } else if (answer.kind === "early") {
      this.#services.time.wakeAt(this.#services.time.now() + EARLY_MS, () => this.wake());
    } else if (answer.kind === "lost") {
      this.#services.events.onAppendRefused(this, answer.reason);
    }
  }

  #startProgram(input: Payload): void {
    const start = (): void => this.#driver.start(input);
    if (this.#driver.recordsLeft > WATCHED_RECORDS_MAX)
      this.#unwatched = this.#services.rejections.unwatched(this.runId, start);
    else this.#services.rejections.watched(this.runId, start);
  }

  #arrive(entries: readonly InboxEntry[]): void {
    if (this.#cancelledBy(entries)) return;
    this.#state.open.arrive(entries);
    this.#notePauses(entries);
    this.#exclusive.caughtUp();
    this.#stored.markWoken();
    this.wake();
  }

  /** Reloads the inbox until it is known. A reload may fail, and no other event may ever wake the run. */
  #catchUp(): void {
    if (this.#hasEnded || !this.#exclusive.inboxStale) return;
    this.#services.events.onInboxStale(this);
    this.#services.time.wakeAt(this.#services.time.now() + RELOAD_MS, () => this.#catchUp());
  }

  get #hasEnded(): boolean {
    return this.#phase === "discarded" || this.#phase === "ended";
  }

  #onDurable(op: AppendOp | null): void {
    if (op !== null) this.#services.events.onCommitted(this, op);
    if (this.#state.pending.isSplit) this.#state.pending.requestCommit();
    if (this.#phase === "ended") {
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

  /** Parks the session if its stored row is suspended and nothing is left to append, even if it was woken meanwhile. */
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

  /** A separate method, so that only the first request allocates a closure. */
  #createIdleCallback(): () => void {
    const onIdle = (): void => this.#onIdle();
    this.#idle = onIdle;
    return onIdle;
  }

  /** The program is idle. The only place from which it is driven. */
  #onIdle(): void {
    this.#idleRequested = false;
    try {
      if (this.#phase === "working" && this.#driver.replayStep()) this.#requestIdle();
      else this.#drive();
    } catch (error) {
      this.#stopReading(error);
    }
  }

  /** Pauses the run if its driver could not read a payload. Throws other errors again. */
  #stopReading(error: unknown): void {
    if (!isUnreadable(error) || this.#hasEnded) throw error;
    this.#unreadable = error;
    this.#pauseUnlessBusy(error);
  }

  /** A step that ends makes the session idle, and so leads here again. */
  #pauseUnlessBusy(error: PawlError): void {
    if (!this.#state.steps.busy) this.#endAs(pausedState(this.#services, this.runId, error));
  }

  #drive(): void {
    if (this.#hasEnded || this.#exclusive.inFlight) return;
    if (this.#unreadable !== null) {
      this.#pauseUnlessBusy(this.#unreadable);
      return;
    }
    if (this.#pauses !== null) {
      this.#pause(this.#pauses);
      return;
    }
    if (!this.#driver.resourcesReady) {
      // The row must not become suspended: no event would wake the run.
      this.#stored.update(this.#state, true);
      return;
    }
    const result = this.#driver.step();
    switch (result.kind) {
      case "delivered":
        this.#requestIdle();
        return;
      case "ended":
        this.#endAs(endState(this.#services.codec, result.ending, this.runId, this.#state.pending));
        return;
      case "stopping":
        this.#requestEnd();
        this.#requestIdle();
        return;
      case "stopped":
        this.#abort(discardedError(this.runId, "compensating"));
        if (result.isFresh) this.#stored.stopped(this.#state);
        this.#requestIdle();
        return;
      case "diverged":
        this.#endAs(pausedState(this.#services, this.runId, result.error));
        return;
      case "broken":
        this.#pauseUnlessBusy(result.error);
        return;
      case "idle":
        // The program is still idle, so new completions are delivered at once.
        if (this.#findWork()) this.#drive();
        else this.#parkIfIdle();
    }
  }

  /**
   * Matches the inbox and collects due deadlines. Returns true if there is a completion to deliver. Otherwise updates the stored
   * row with what the run waits for.
   */
  #findWork(): boolean {
    const { completions, pending, open, steps } = this.#state;
    this.#matchInbox();
    if (completions.size > 0) return true;
    if (open.hasDeadlines) {
      const due = this.#exclusive.findDue(this.#services.time.now());
      if (due) pending.requestCommit();
      // A retried step may have completed at once.
      if (completions.size > 0) return true;
      if (due) return false;
    }
    if (this.#driver.checkLimits("idle")) return true;
    this.#stored.update(this.#state);
    // A parked run is woken by the worker. Beside running steps or other pending promises the session watches its own deadlines.
    if (steps.busy || open.size === 0) this.#exclusive.watchDeadlines();
    else this.#exclusive.unwatchDeadlines();
    return false;
  }

  /** Ends the waits that inbox entries can end. */
  #matchInbox(): void {
    const { open, pending, completions, codec } = this.#state;
    for (let match = open.takeMatch(); match !== null; match = open.takeMatch()) {
      // Read before the entries are consumed: an unreadable one stays in the inbox.
      const end = completionOfWait(codec, match.wait, match.entries);
      for (const entry of match.entries) pending.consumeEntry(entry.n);
      completions.add(match.wait, end);
    }
  }

  #cancelledBy(entries: readonly InboxEntry[]): boolean {
    const cancel = entries.find((entry) => entry.kind === "cancel" && !isPauseRequest(entry));
    if (cancel === undefined || this.#driver.cancel(cancel)) return false;
    this.#state.pending.consumeEntry(cancel.n);
    this.#endAs({ status: "cancelled", outcome: cancel.value, at: this.#state.pending.at });
    return true;
  }

  #notePauses(entries: readonly InboxEntry[]): void {
    const pauses = entries.filter(isPauseRequest);
    if (pauses.length === 0) return;
    this.#pauses = [...(this.#pauses ?? []), ...pauses];
    this.#state.steps.hold();
  }

  /** Pauses the run when its running steps have ended. Their results are recorded, and the program does not receive them. */
  #pause(pauses: readonly InboxEntry[]): void {
    const { steps, pending } = this.#state;
    if (steps.attempting) {
      this.#stored.update(this.#state, true);
      return;
    }
    for (const { n } of pauses) pending.consumeEntry(n);
    this.#endAs({ status: "paused", reason: pauses.at(-1)?.value ?? null });
  }

  #endAs(state: RunState): void {
    this.#phase = "ended";
    this.endState = state;
    this.#state.pending.state(state);
    this.#driver.releaseResources();
    if (this.#state.steps.busy || this.#controller !== null || this.#cancelGrace !== null)
      this.#abort(discardedError(this.runId, state.status));
  }

  /** Asks the running steps to end. Those that do not within the grace are abandoned. */
  #requestEnd(): void {
    const { graceMs, time } = this.#services;
    const reason = stoppedError(this.runId, graceMs);
    this.#cancelGrace = time.clock.wakeAt(time.clock.now() + graceMs, () => {
      this.#driver.endGrace();
      this.wake();
    });
    this.#state.steps.requestEnd(reason);
    if (this.#controller !== null) abortIn(EMPTY_CONTEXT, this.#controller, reason);
  }

  #abort(reason: Error): void {
    this.#cancelGrace?.();
    this.#cancelGrace = null;
    this.#exclusive.unwatchDeadlines();
    this.#state.steps.abort(reason);
    if (this.#controller !== null) abortIn(EMPTY_CONTEXT, this.#controller, reason);
  }
}

/** The state of the run's row once everything in `pending` is applied. */
class StoredState {
  #status: "running" | "suspended" = "running";
  #waitChanges = 0;
  #woken = false;
  /** Whether the stored row is suspended and no other state was sent since. */
  #isParkStored = false;
  /** The change of the open waits that the sent state contains. */
  #sentChanges = 0;

  /** Notes a state that is being sent. */
  sent(state: RunState | null): void {
    if (state === null) return;
    this.#isParkStored = false;
    this.#sentChanges = this.#waitChanges;
  }

  /** Notes that the sent state is stored. If entries arrived meanwhile, the store has not registered the run as a waiter. */
  stored(state: RunState | null, { open }: SessionState): void {
    if (state === null) return;
    this.#isParkStored = state.status === "suspended";
    if ("wait" in state && state.inboxSeen === open.inboxSeen) open.knownToStore = this.#sentChanges;
  }

  /** Whether the row is suspended, nothing is left to append, and no step is running. */
  isParked({ pending, steps }: SessionState): boolean {
    return this.#isParkStored && !this.#woken && !pending.commitRequested && !steps.busy;
  }

  /** The store considers the run awake, so its wait must be written again. */
  markWoken(): void {
    this.#woken = true;
  }

  /** Writes what the run waits for, unless the row already has it. Called when no completion is left to deliver. */
  update({ open, steps, pending, progress }: SessionState, isWorking = false): void {
    // Without an open command the code awaits another promise, so the run is working.
    const status = isWorking || steps.busy || open.size === 0 ? "running" : "suspended";
    const { waits, inboxSeen } = open;
    if (this.#status === status && this.#waitChanges === waits.changes && !this.#woken) {
      // A suspended run may be evicted, so all its records must be written.
      if (status === "suspended" && pending.holdsRecords) pending.requestCommit();
      return;
    }
    this.#status = status;
    this.#waitChanges = waits.changes;
    this.#woken = false;
    const lastProgress = progress.at(pending);
    // The stored status is `compensating` for a working and for a suspended run. The wait distinguishes them: null if it is working.
    const isCompensating = pending.undoState === "underWay";
    if (status === "running")
      pending.state({ status, wait: isCompensating ? null : open.waitRow(lastProgress), inboxSeen });
    else pending.state({ status, wait: open.parkedRow(lastProgress), inboxSeen });
  }

  /** Writes that the run is compensating. Its program's waits are dropped. */
  stopped(state: SessionState): void {
    this.adopt(state);
    state.pending.state({ status: "running", wait: null, inboxSeen: state.open.inboxSeen });
  }

  /** Takes over a state that an exclusive append has committed. */
  adopt({ open }: SessionState): void {
    this.#status = "running";
    this.#waitChanges = open.waits.changes;
    this.#sentChanges = open.waits.changes;
    this.#woken = false;
  }
}

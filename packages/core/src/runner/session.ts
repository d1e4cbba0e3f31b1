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
type Phase = "working" | "resting" | "done" | "gone";

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
  readonly #world: SessionServices;
  readonly #desk: SessionState;
  readonly #course: ProgramDriver;
  readonly #row = new StoredState();
  readonly #own: ExclusiveAppends;
  /** What is called when the program has come to rest; null where none is asked for: hot runs are many. */
  #rest: (() => void) | null = null;
  #phase: Phase = "working";
  #restAsked = false;
  end: RunState | null = null;
  #sent: AppendOp | null = null;
  #controller: AbortController | null = null;
  #unwatched: (() => void) | null = null;

  constructor(world: SessionServices, loaded: Loaded, createProgram: ProgramFactory) {
    this.#world = world;
    this.run = factsOf(loaded.run);
    this.runId = loaded.run.id;
    const snapshot = loaded.snapshot === null ? null : readSnapshot(world.codec, loaded.snapshot);
    this.#desk = createSessionState(world, loaded, snapshot, this);
    this.#own = new ExclusiveAppends(this.#desk, world, this);
    this.#course = new ProgramDriver(
      { owner: this, desk: this.#desk, world, run: this.run },
      loaded,
      snapshot,
      createProgram,
    );
  }

  get seq(): number {
    return this.#desk.draft.seq;
  }

  get inboxSeen(): number {
    return this.#desk.open.inboxSeen;
  }

  get until(): number | null {
    return this.#desk.open.until;
  }

  get resting(): boolean {
    return this.#phase === "resting";
  }

  get doubted(): boolean {
    return this.#desk.steps.doubted;
  }

  get undoes(): boolean {
    return this.#desk.draft.undoRow === "underWay";
  }

  get bytes(): number {
    return this.#desk.completions.bytes;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  onFilled(): void {
    this.#world.enlist(this);
  }

  onAdded(): void {
    this.#askRest();
  }

  onTried(body: StepAttempt, end: AttemptResult): void {
    if (!this.#over) recordAttempt(this.#desk, body, end);
  }

  onTransaction(body: StepAttempt): void {
    this.#own.add(body);
  }

  start({ run, inbox }: Loaded): void {
    if (this.#cancelledBy(inbox)) return;
    this.#desk.open.arrive(inbox);
    this.#unwatched = startProgram(this.#world, this.#course, run.input);
    this.#askRest();
  }

  doubt(): void {
    this.#desk.steps.doubt();
  }

  refresh(run: Run, inbox: readonly InboxEntry[]): void {
    if (this.#over) return;
    this.#desk.steps.trust();
    this.#arrive(this.#desk.open.news(run, inbox));
  }

  receive(entries: readonly InboxEntry[]): boolean {
    if (this.#over) return true;
    if (!this.#desk.open.follows(entries)) return false;
    this.#arrive(entries);
    return true;
  }

  wake(): void {
    if (this.#over) return;
    if (this.#phase === "resting") {
      this.#phase = "working";
      this.#row.woken();
      this.#world.woke(this);
    }
    this.#askRest();
  }

  release(): void {
    if (!this.#over) this.#endAs({ status: "released", at: this.#desk.draft.at });
  }

  abandon(reason: Error): void {
    this.evict();
    this.#abort(reason);
    this.#course.letGo();
  }

  evict(): void {
    this.#phase = "gone";
    this.#unwatched?.();
  }

  takeAppend(): AppendOp | null {
    if (this.#phase === "gone" || this.#own.underWay) return null;
    this.#sent =
      this.#desk.draft.takeOp(this.runId, this.run.epoch) ?? (this.#over ? null : this.#own.takeOp(this.run));
    this.#row.sent(this.#sent?.state ?? null);
    return this.#sent;
  }

  appended(outcome: Outcomes["append"]): void {
    if (this.#phase === "gone") return;
    // What was gathered while an append was under way by itself was not taken.
    if (this.#own.underWay && this.#desk.draft.announced) this.#world.enlist(this);
    const answer = this.#own.answered(outcome);
    if (answer.kind === "durable") {
      if (answer.rowTold) this.#row.adopt(this.#desk);
      this.#durable();
    } else if (answer.kind === "behind") {
      this.#catchUp();
    } else if (answer.kind === "early") {
      this.#world.wakeAt(this.#world.now() + EARLY_MS, () => this.wake());
    } else if (answer.kind === "lost") {
      this.#world.lost(this, answer.reason);
    }
  }

  #arrive(news: readonly InboxEntry[]): void {
    if (this.#cancelledBy(news)) return;
    this.#desk.open.arrive(news);
    this.#own.caughtUp();
    this.#row.woken();
    this.wake();
  }

  /** Has the run read until its inbox is known again: a read may fail, and nothing else may ever come for the run. */
  #catchUp(): void {
    if (this.#over || !this.#own.behind) return;
    this.#world.behind(this);
    this.#world.wakeAt(this.#world.now() + BEHIND_MS, () => this.#catchUp());
  }

  get #over(): boolean {
    return this.#phase === "gone" || this.#phase === "done";
  }

  /** What was sent is durable. */
  #durable(): void {
    const op = this.#sent;
    this.#sent = null;
    if (op !== null) this.#world.committed(this, op);
    if (this.#phase === "done") {
      if (op?.state !== this.end) return;
      this.#unwatched?.();
      this.#world.ended(this);
      return;
    }
    this.#desk.steps.durable(op?.records.at(-1)?.seq ?? 0);
    if (this.#own.waiting) this.#desk.draft.announce();
    this.#row.stored(op?.state ?? null, this.#desk);
    if (this.#own.hasUntold) this.wake();
    if (!this.#restAsked) this.#restIfStill();
  }

  /** Its row says that it rests. One that was woken for nothing while that was written has nothing more to write. */
  #restIfStill(): void {
    if (this.#phase !== "working" || !this.#row.rests(this.#desk)) return;
    this.#phase = "resting";
    this.#rest = null;
    this.#course.letGo();
    this.#world.rested(this);
  }

  #askRest(): void {
    if (this.#restAsked) return;
    this.#restAsked = true;
    this.#world.turns.atRest(this.#rest ?? this.#makeRest());
  }

  /** Apart, so that only a session that asks for the first time needs a scope for it. */
  #makeRest(): () => void {
    const rest = (): void => this.#atRest();
    this.#rest = rest;
    return rest;
  }

  /** The program has come to rest: the one place from which it is moved on. */
  #atRest(): void {
    this.#restAsked = false;
    if (this.#phase === "working" && this.#course.feed()) this.#askRest();
    else this.#moveOn();
  }

  #moveOn(): void {
    if (this.#over || this.#own.underWay) return;
    if (!this.#course.isEquipped) {
      // A rest that was about to be written would be one that nothing ends.
      this.#row.tell(this.#desk, true);
      return;
    }
    const move = this.#course.move();
    switch (move.kind) {
      case "handed":
        this.#askRest();
        return;
      case "ended":
        this.#endAs(endState(this.#world.codec, move.ending, this.runId, this.#desk.draft));
        return;
      case "stopped":
        this.#abort(droppedWith(this.runId, "undoes what it did"));
        if (move.isFresh) this.#row.stopped(this.#desk);
        this.#askRest();
        return;
      case "diverged":
        this.#endAs(pausedState(this.#world, this.runId, move.error));
        return;
      case "idle":
        // The program is at rest still: what has come is handed to it at once.
        if (findWorkOrPark(this.#desk, this.#own, this.#course, this.#row, this.#world.now)) this.#moveOn();
        else this.#restIfStill();
    }
  }

  #cancelledBy(news: readonly InboxEntry[]): boolean {
    const cancel = news.find((entry) => entry.kind === "cancel");
    if (cancel === undefined || this.#course.cancel(cancel)) return false;
    this.#desk.draft.take(cancel.n);
    this.#endAs({ status: "cancelled", outcome: cancel.value, at: this.#desk.draft.at });
    return true;
  }

  #endAs(state: RunState): void {
    this.#phase = "done";
    this.end = state;
    this.#desk.draft.state(state);
    this.#course.letGo();
    if (this.#desk.steps.busy || this.#controller !== null) this.#abort(droppedWith(this.runId, `is ${state.status}`));
  }

  #abort(reason: Error): void {
    this.#own.leaveDeadlines();
    this.#desk.steps.abort(reason);
    this.#controller?.abort(reason);
  }
}

/** Nothing is left to hand to the program: what has come and what is due is looked for; true if there is some. Else the row is told. */
export function findWorkOrPark(
  desk: SessionState,
  own: ExclusiveAppends,
  course: ProgramDriver,
  row: StoredState,
  now: () => number,
): boolean {
  const found = findWork(desk, own, now);
  if (found !== "nothing") return found === "completions";
  if (course.look("idle")) return true;
  row.tell(desk);
  // While bodies run, or the code awaits something of its own, the session itself sees to the deadlines beside them.
  if (desk.steps.busy || desk.open.size === 0) own.watchDeadlines();
  else own.leaveDeadlines();
  return false;
}

/** Looks for what has come and what is due: completions are to be handed to the program, the store is to be asked whether a deadline has come, or there is nothing. */
export function findWork(
  desk: SessionState,
  own: ExclusiveAppends,
  now: () => number,
): "completions" | "deadlines" | "nothing" {
  const { completions, draft, open } = desk;
  matchInbox(desk);
  if (completions.size > 0) return "completions";
  const due = open.hasDeadlines && own.look(now());
  if (due) draft.announce();
  // A step that was tried again may have ended at once.
  if (completions.size > 0) return "completions";
  return due ? "deadlines" : "nothing";
}

/** Ends the waits that the inbox can end. */
export function matchInbox({ open, draft, completions, codec }: SessionState): void {
  for (let match = open.takeMatch(); match !== null; match = open.takeMatch()) {
    for (const entry of match.entries) draft.take(entry.n);
    completions.add(match.wait, completionOfWait(codec, match.wait, match.entries));
  }
}

/** A history of more records is replayed without watching over the code: that would take longer than the replay itself. */
const WATCHED_RECORDS_MAX = 1_000;

/** Starts the program; gives what is to be called when code that is not watched is over, null where it is watched. */
export function startProgram(world: SessionServices, course: ProgramDriver, input: Payload): (() => void) | null {
  const start = (): void => course.start(input);
  if (course.recordsLeft > WATCHED_RECORDS_MAX) return world.beside(course.runId, start);
  world.within(course.runId, start);
  return null;
}

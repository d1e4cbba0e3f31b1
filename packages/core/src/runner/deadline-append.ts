import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp } from "../model/op.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Run } from "../model/run.ts";
import { emptyAppend } from "../model/transition.ts";
import type { Completion, WaitCommand } from "../workflow/command.ts";
import type { CommandEnd, Completed } from "./completions.ts";
import type { SessionState } from "./session-state.ts";
import { completionOfWait } from "./wait-completion.ts";

/** A wait whose time is up, as it is put to the store. */
interface Ended {
  readonly wait: WaitCommand;
  readonly entries: readonly InboxEntry[];
  readonly end: CommandEnd;
  readonly record: JournalRecord;
}

const NONE: readonly WaitCommand[] = [];

/**
 * Waits whose deadline has come. "Nothing came before it" is for the store to say, and "it has come" where the store has a clock
 * of its own: so they are put to it in an append of their own, and reach the program when they are durable; until then nothing
 * else of the run is recorded.
 *
 * 1. A refused one changes nothing: its waits are open still, and the bodies beside them go on.
 * 2. An event that was there first is not passed over: the store has looked for it, and has the run as a waiter since. It looks
 *    when it is told of the wait, so a wait that it does not know of is told of before it is over.
 */
export class DeadlineAppend {
  readonly #state: SessionState;
  readonly #hasPassed: (at: number) => boolean;
  /** Due, and not yet put to the store. */
  #due: readonly WaitCommand[] = NONE;
  /** Due, and the store has not looked for their events: it has when it is told of the waits as of this change of them. */
  #unregistered: Map<WaitCommand, number> | null = null;
  #sent: readonly Ended[] | null = null;
  /** The inbox has moved on: what has come is looked at before anything is put to the store again. */
  #inboxStale = false;

  constructor(session: SessionState, hasCome: (at: number) => boolean) {
    this.#state = session;
    this.#hasPassed = hasCome;
  }

  /** Whether the store has been asked and has not answered. */
  get inFlight(): boolean {
    return this.#sent !== null;
  }

  /** Whether there is something to put to the store. */
  get waiting(): boolean {
    return this.#due.length > 0;
  }

  /** Whether something has come that is not known here. */
  get inboxStale(): boolean {
    return this.#inboxStale;
  }

  /** Whether a wait is due that the store has to be told of first. */
  get hasUnregisteredWait(): boolean {
    return this.#unregistered !== null;
  }

  /** What the inbox holds is known again. */
  caughtUp(): void {
    this.#inboxStale = false;
  }

  /**
   * Looks for deadlines that have come; true if there is one to put to the store. A sleep is over at once where that is
   * certain; steps whose back-off is over begin.
   */
  findDue(now: number): boolean {
    const { open, steps, completions } = this.#state;
    if (this.#inboxStale) return false;
    const found = [...this.#due];
    const untold = this.#unregistered;
    this.#unregistered = null;
    for (let due = open.takeDue(now); due !== null; due = open.takeDue(now)) {
      if (due.kind === "step") {
        due.retryAt = 0;
        steps.schedule(due, completions.mustBeDurableSeq);
      } else if (due.arms.length === 0 && this.#hasPassed(due.until ?? 0)) {
        open.endWait(due, []);
        completions.add(due, deadlineEnd(due));
      } else {
        found.push(due);
      }
    }
    this.#due = found.length === 0 ? NONE : this.#registered(found, untold);
    return this.#due.length > 0;
  }

  /** The question, as an append. While it is under way completions that come are kept back. */
  takeOp({ id: runId, epoch }: Pick<Run, "id" | "epoch">): AppendOp | null {
    const { open, pending, completions } = this.#state;
    const due = this.#registered(this.#due, this.#unregistered);
    this.#due = NONE;
    if (due.length === 0) return null;
    const { at } = pending;
    const asked = due.map((wait, index) => this.#ended(wait, pending.seq + 1 + index, at));
    this.#sent = asked;
    completions.buffer();
    return {
      ...emptyAppend(runId, epoch),
      records: asked.map(({ record }) => record),
      taken: asked.flatMap(({ entries }) => entries.map(({ n }) => n)),
      state: {
        status: "running",
        // As of the records before these: the program has not received them, and may wait for something else when it has.
        wait: open.waitRow({ since: at, seq: pending.seq }, new Set(due)),
        inboxSeen: open.inboxSeen,
      },
      inbox: due.some((wait) => wait.arms.length > 0) ? open.inboxSeen : null,
      notBefore: Math.max(...due.map((wait) => wait.until ?? 0)),
    };
  }

  /** It is so, and durable: the program hears of it. */
  accepted(): void {
    const { open, pending, completions } = this.#state;
    const asked = this.#sent ?? [];
    this.#sent = null;
    for (const { wait, entries, record } of asked) {
      open.endWait(wait, entries);
      pending.addCommitted(record);
    }
    completions.adopt(
      asked.map(
        ({ wait, end, record }): Completed => ({
          kind: "completed",
          command: wait,
          completion: end.completion,
          payload: record.payload,
          seq: record.seq,
          at: record.at,
        }),
      ),
    );
    completions.flush();
  }

  /** The moment was wrong: the waits are open as they were. */
  refused(reason: "inbox" | "early"): void {
    const { open, completions } = this.#state;
    for (const { wait } of this.#sent ?? []) open.waitAgain(wait);
    this.#sent = null;
    this.#inboxStale = reason === "inbox";
    completions.flush();
  }

  /** Those that are open and that the store knows of; the others are due again when it does. */
  #registered(due: readonly WaitCommand[], untold: ReadonlyMap<WaitCommand, number> | null): readonly WaitCommand[] {
    const { open } = this.#state;
    return due.filter((wait) => {
      if (!open.has(wait)) return false;
      const change = untold?.get(wait) ?? open.waits.changes;
      if (!isForEvent(wait) || open.knownToStore >= change) return true;
      this.#unregistered ??= new Map();
      this.#unregistered.set(wait, change);
      open.waitAgain(wait);
      return false;
    });
  }

  #ended(wait: WaitCommand, seq: number, at: number): Ended {
    const entries = wait.many ? this.#state.open.entriesFor(wait) : [];
    const end = wait.many ? completionOfWait(this.#state.codec, wait, entries) : deadlineEnd(wait);
    const { outcome, payload, detail } = end;
    const { location, record: kind, issuedAt: startedAt } = wait;
    return {
      wait,
      entries,
      end,
      record: { seq, location, kind, outcome, payload, attempts: 0, startedAt, at, detail },
    };
  }
}

function isForEvent({ arms }: WaitCommand): boolean {
  return arms.some((arm) => arm.kind === "event");
}

function deadlineEnd(wait: WaitCommand): CommandEnd {
  const { outcome, detail } = wait.atDeadline;
  const completion: Completion = outcome === "ok" ? { outcome, value: undefined, detail } : { outcome };
  return { outcome, payload: null, completion, detail };
}

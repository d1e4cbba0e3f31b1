import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp } from "../model/op.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Run } from "../model/run.ts";
import { emptyAppend } from "../model/transition.ts";
import type { Completion, WaitCommand } from "../workflow/command.ts";
import type { CommandEnd, Completed } from "./completions.ts";
import type { SessionState } from "./session-state.ts";
import { completionOfWait } from "./wait-completion.ts";

/** A timed-out wait in the append that was sent. */
interface SentTimeout {
  readonly wait: WaitCommand;
  readonly entries: readonly InboxEntry[];
  readonly end: CommandEnd;
  readonly record: JournalRecord;
}

const NONE: readonly WaitCommand[] = [];

/**
 * Ends waits whose deadline has passed.
 *
 * Only the store can confirm that nothing arrived before the deadline, and that the deadline has passed on its clock. So the
 * timeouts are sent as an exclusive append, and reach the program when that append is durable. Until then the run records nothing else.
 *
 * 1. If the store refuses the append, nothing changes: the waits stay open and running steps continue.
 * 2. A timeout never overtakes an event that was there first. The store searches for events when a wait is registered, so every
 *    wait is registered before it can time out.
 */
export class DeadlineAppend {
  readonly #state: SessionState;
  readonly #hasPassed: (at: number) => boolean;
  /** Waits to send with the next append. */
  #due: readonly WaitCommand[] = NONE;
  /** Due waits that the store does not know yet, each with the change of the open waits that registers it. */
  #unregistered: Map<WaitCommand, number> | null = null;
  #sent: readonly SentTimeout[] | null = null;
  /** The store has inbox entries that this session has not loaded. No timeout is sent until they are known. */
  #inboxStale = false;

  constructor(state: SessionState, hasPassed: (at: number) => boolean) {
    this.#state = state;
    this.#hasPassed = hasPassed;
  }

  get inFlight(): boolean {
    return this.#sent !== null;
  }

  /** Whether there are timeouts to send. */
  get waiting(): boolean {
    return this.#due.length > 0;
  }

  get inboxStale(): boolean {
    return this.#inboxStale;
  }

  /** Whether a due wait must be registered first. */
  get hasUnregisteredWait(): boolean {
    return this.#unregistered !== null;
  }

  /** The inbox was reloaded. */
  caughtUp(): void {
    this.#inboxStale = false;
  }

  /**
   * Collects waits whose deadline has passed. Returns true if there are timeouts to send. A sleep ends at once if its deadline has
   * certainly passed. Steps whose retry delay has passed are scheduled.
   */
  findDue(now: number): boolean {
    const { open, steps, completions } = this.#state;
    if (this.#inboxStale) return false;
    const found = [...this.#due];
    const unregistered = this.#unregistered;
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
    this.#due = found.length === 0 ? NONE : this.#registered(found, unregistered);
    return this.#due.length > 0;
  }

  /** Returns the timeouts as an append, and buffers completions until it is answered. Null if there is none. */
  takeOp({ id: runId, epoch }: Pick<Run, "id" | "epoch">): AppendOp | null {
    const { open, pending, completions } = this.#state;
    const due = this.#registered(this.#due, this.#unregistered);
    this.#due = NONE;
    if (due.length === 0) return null;
    const { at } = pending;
    const sent = due.map((wait, index) => this.#timeoutOf(wait, pending.seq + 1 + index, at));
    this.#sent = sent;
    completions.buffer();
    return {
      ...emptyAppend(runId, epoch),
      records: sent.map(({ record }) => record),
      taken: sent.flatMap(({ entries }) => entries.map(({ n }) => n)),
      state: {
        status: "running",
        // The state before these records: the program has not received them, and may wait for something else afterwards.
        wait: open.waitRow({ since: at, seq: pending.seq }, new Set(due)),
        inboxSeen: open.inboxSeen,
      },
      inbox: due.some((wait) => wait.arms.length > 0) ? open.inboxSeen : null,
      notBefore: Math.max(...due.map((wait) => wait.until ?? 0)),
    };
  }

  /** The timeouts are durable. Delivers them to the program. */
  accepted(): void {
    const { open, pending, completions } = this.#state;
    const sent = this.#sent ?? [];
    this.#sent = null;
    for (const { wait, entries, record } of sent) {
      open.endWait(wait, entries);
      pending.addCommitted(record);
    }
    completions.adopt(
      sent.map(
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

  /** The store refused the append: an entry had arrived, or the deadline has not passed on its clock. */
  refused(reason: "inbox" | "early"): void {
    const { open, completions } = this.#state;
    for (const { wait } of this.#sent ?? []) open.waitAgain(wait);
    this.#sent = null;
    this.#inboxStale = reason === "inbox";
    completions.flush();
  }

  /** Returns the open waits that the store knows. The others become due again once they are registered. */
  #registered(
    due: readonly WaitCommand[],
    unregistered: ReadonlyMap<WaitCommand, number> | null,
  ): readonly WaitCommand[] {
    const { open } = this.#state;
    return due.filter((wait) => {
      if (!open.has(wait)) return false;
      const change = unregistered?.get(wait) ?? open.waits.changes;
      if (!isForEvent(wait) || open.knownToStore >= change) return true;
      this.#unregistered ??= new Map();
      this.#unregistered.set(wait, change);
      open.waitAgain(wait);
      return false;
    });
  }

  #timeoutOf(wait: WaitCommand, seq: number, at: number): SentTimeout {
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

import type { InboxEntry } from "../model/inbox.ts";
import { type OpenWait, type Run, WAIT_OPEN_MAX, type Wait } from "../model/run.ts";
import { DeadlineHeap } from "../runtime/deadline-heap.ts";
import type { Command, StepCommand, WaitCommand } from "../workflow/command.ts";
import type { LastProgress } from "./limits.ts";
import { type Match, OpenWaits } from "./open-waits.ts";

const NONE: ReadonlySet<WaitCommand> = new Set();
const NO_WAIT: Omit<Wait, "until" | "since" | "seq"> = {
  messages: [],
  topics: [],
  children: false,
  open: [],
  openCount: 0,
};

/** The open commands of a program, its inbox, and its deadlines. */
export class OpenCommands {
  readonly #byLocation = new CommandMap();
  readonly #waits = new OpenWaits();
  /** Created with the first deadline: many runs only wait for a message. */
  #deadlines: DeadlineHeap<StepCommand | WaitCommand> | null = null;
  #inboxSeen: number;
  /** When the run's limits must be checked. */
  limitAt: number | null = null;
  /**
   * The change of the open waits up to which the store has registered them: it has searched for their events and reports new ones.
   */
  knownToStore = -1;

  constructor(inboxSeen: number) {
    this.#inboxSeen = inboxSeen;
  }

  get size(): number {
    return this.#byLocation.size;
  }

  /** The number of open waits, and a counter of their changes. */
  get waits(): { readonly size: number; readonly changes: number } {
    return this.#waits;
  }

  /** The newest inbox entry that was received. */
  get inboxSeen(): number {
    return this.#inboxSeen;
  }

  /** Whether any command had a deadline. If not, none can be due. */
  get hasDeadlines(): boolean {
    return this.#deadlines !== null;
  }

  /** The earliest deadline of a command or of the run's limits. */
  get nextDeadline(): number | null {
    const at = this.#deadlines?.earliest() ?? null;
    if (this.limitAt === null) return at;
    return at === null ? this.limitAt : Math.min(at, this.limitAt);
  }

  get byLocation(): OpenCommandView {
    return this.#byLocation;
  }

  add(command: Command): void {
    this.#byLocation.add(command);
  }

  holds(command: Command): boolean {
    return this.#byLocation.get(command.location) === command;
  }

  /** Closes the command at the path, or if there is none, every command under it. Returns the closed commands. */
  closeUnder(path: string): readonly Command[] {
    if (this.#byLocation.size === 0) return [];
    const own = this.#byLocation.get(path);
    const closed =
      own === undefined
        ? [...this.#byLocation.values()].filter(({ location }) => location.startsWith(`${path}/`))
        : [own];
    for (const command of closed) {
      this.close(command);
      if (command.kind === "wait") this.#waits.remove(command);
    }
    return closed;
  }

  /** Closes the commands that are not to be kept. */
  closeUnless(keep: (command: Command) => boolean): void {
    for (const command of [...this.#byLocation.values()]) {
      if (keep(command)) continue;
      this.close(command);
      if (command.kind === "wait") this.#waits.remove(command);
    }
  }

  closeAll(): void {
    for (const command of this.#byLocation.values()) if (command.kind === "wait") this.#waits.remove(command);
    this.#byLocation.clear();
  }

  close(command: Command): void {
    this.#byLocation.remove(command.location);
  }

  /** Opens a wait. From now on an inbox entry or its deadline can end it. */
  wait(command: WaitCommand): void {
    this.#waits.add(command);
    if (command.until !== null) this.#addDeadline(command.until, command);
  }

  /** Schedules a retry at the step's `retryAt`. */
  retry(step: StepCommand): void {
    this.#addDeadline(step.retryAt, step);
  }

  /** Takes the stored inbox. Returns the entries that were not seen before. */
  unseen(run: Run, inbox: readonly InboxEntry[]): readonly InboxEntry[] {
    const fresh = inbox.filter((entry) => entry.n > this.#inboxSeen);
    this.#inboxSeen = Math.max(this.#inboxSeen, run.inboxLast);
    return fresh;
  }

  /** Returns true and marks the entries as seen, if they directly follow the newest seen one. */
  acceptIfNext(entries: readonly InboxEntry[]): boolean {
    if (entries[0]?.n !== this.#inboxSeen + 1) return false;
    this.#inboxSeen += entries.length;
    return true;
  }

  /** The store has removed this run from its waiters, because the entries woke it. */
  arrive(entries: readonly InboxEntry[]): void {
    this.knownToStore = -1;
    this.#waits.arrive(entries);
  }

  takeMatch(): Match | null {
    return this.#waits.takeMatch();
  }

  /** Takes a step to retry, or a wait whose deadline has passed. The wait stays open until `endWait`. */
  takeDue(now: number): StepCommand | WaitCommand | null {
    return this.#deadlines?.takeDue(now) ?? null;
  }

  has(wait: WaitCommand): boolean {
    return this.#waits.has(wait);
  }

  /** Returns the entries for a wait, at most its count. */
  entriesFor(wait: WaitCommand): readonly InboxEntry[] {
    return this.#waits.entriesFor(wait, 0) ?? [];
  }

  endWait(wait: WaitCommand, entries: readonly InboxEntry[]): void {
    this.#waits.end(wait, entries);
  }

  /** Restores the deadline of a wait. */
  waitAgain(wait: WaitCommand): void {
    if (wait.until !== null) this.#addDeadline(wait.until, wait);
  }

  /** Returns the row's wait: what wakes the run. Excludes the waits that are about to end. */
  waitRow(progress: LastProgress, without: ReadonlySet<WaitCommand> = NONE): Wait | null {
    return this.#waits.waitRow(this.nextDeadline, progress, without);
  }

  /** Like `waitRow`, for a run that is parked: its open steps wait for their retry. */
  parkedRow(progress: LastProgress): Wait {
    const wait = this.waitRow(progress) ?? { ...NO_WAIT, until: this.nextDeadline, ...progress };
    if (this.#waits.size === this.#byLocation.size) return wait;
    const steps = [...this.#byLocation.values()].filter((command) => command.kind === "step");
    const retries = steps.slice(0, WAIT_OPEN_MAX - wait.open.length).map(retryWait);
    return { ...wait, open: [...wait.open, ...retries], openCount: wait.openCount + steps.length };
  }

  #addDeadline(at: number, command: StepCommand | WaitCommand): void {
    this.#deadlines ??= new DeadlineHeap((command, time) => this.#isDue(command, time));
    this.#deadlines.add(at, command);
  }

  #isDue(command: StepCommand | WaitCommand, at: number): boolean {
    if (command.kind === "wait") return this.#waits.has(command);
    return this.#byLocation.get(command.location) === command && command.retryAt === at;
  }
}

function retryWait({ location, issuedAt, retryAt }: StepCommand): OpenWait {
  return { location, kind: "retry", since: issuedAt, until: retryAt, arms: [] };
}

/** The open commands of a program, read-only. */
export type OpenCommandView = Pick<CommandMap, "size" | "get" | "values">;

/**
 * Commands by their location, in the order they were added. Most programs issue one command at a time, and a replay adds and
 * removes one at each record: a single one needs no map.
 */
export class CommandMap {
  #only: Command | null = null;
  /** All commands, from the second concurrent one until none is left. */
  #several: Map<string, Command> | null = null;

  get size(): number {
    if (this.#several !== null) return this.#several.size;
    return this.#only === null ? 0 : 1;
  }

  get(location: string): Command | undefined {
    if (this.#several !== null) return this.#several.get(location);
    return this.#only?.location === location ? this.#only : undefined;
  }

  values(): Iterable<Command> {
    if (this.#several !== null) return this.#several.values();
    return this.#only === null ? [] : [this.#only];
  }

  add(command: Command): void {
    if (this.#several !== null) {
      this.#several.set(command.location, command);
    } else if (this.#only === null || this.#only.location === command.location) {
      this.#only = command;
    } else {
      this.#several = new Map([
        [this.#only.location, this.#only],
        [command.location, command],
      ]);
      this.#only = null;
    }
  }

  remove(location: string): void {
    if (this.#several === null) {
      if (this.#only?.location === location) this.#only = null;
      return;
    }
    this.#several.delete(location);
    if (this.#several.size === 0) this.#several = null;
  }

  clear(): void {
    this.#only = null;
    this.#several = null;
  }
}

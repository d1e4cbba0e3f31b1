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

/** What a program has asked for and not yet got, what lies in the inbox for it, and when something of it is due. */
export class OpenCommands {
  readonly #byLocation = new CommandMap();
  readonly #waits = new OpenWaits();
  /** Made with the first: many runs wait for a message alone. */
  #deadlines: DeadlineHeap<StepCommand | WaitCommand> | null = null;
  #inboxSeen: number;
  /** When the run's limits have to be looked at. */
  limitAt: number | null = null;
  /** The change of the waits as of which the store has them all: it has looked for their events, and tells when one comes. */
  knownToStore = -1;

  constructor(inboxSeen: number) {
    this.#inboxSeen = inboxSeen;
  }

  get size(): number {
    return this.#byLocation.size;
  }

  /** How many waits are open, and how often that has changed. */
  get waits(): { readonly size: number; readonly changes: number } {
    return this.#waits;
  }

  /** The newest inbox entry that was looked at. */
  get inboxSeen(): number {
    return this.#inboxSeen;
  }

  /** Whether a command has had a deadline: else none can be due. */
  get hasDeadlines(): boolean {
    return this.#deadlines !== null;
  }

  /** The next deadline: of a command, or of the run's limits. */
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

  /** Closes the command at the path, or else what lies under it, and gives it. */
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

  /** Closes everything. */
  closeAll(): void {
    for (const command of this.#byLocation.values()) if (command.kind === "wait") this.#waits.remove(command);
    this.#byLocation.clear();
  }

  close(command: Command): void {
    this.#byLocation.remove(command.location);
  }

  /** Opens a wait: from here on the inbox or its deadline can end it. */
  wait(command: WaitCommand): void {
    this.#waits.add(command);
    if (command.until !== null) this.#due(command.until, command);
  }

  /** Tries a step again at its `retryAt`. */
  retry(step: StepCommand): void {
    this.#due(step.retryAt, step);
  }

  /** What the store holds of the inbox; gives what was not seen before. */
  unseen(run: Run, inbox: readonly InboxEntry[]): readonly InboxEntry[] {
    const fresh = inbox.filter((entry) => entry.n > this.#inboxSeen);
    this.#inboxSeen = Math.max(this.#inboxSeen, run.inboxLast);
    return fresh;
  }

  /** Whether the entries follow the newest that was looked at; then they count as looked at. */
  acceptIfNext(entries: readonly InboxEntry[]): boolean {
    if (entries[0]?.n !== this.#inboxSeen + 1) return false;
    this.#inboxSeen += entries.length;
    return true;
  }

  /** Whom something reaches the store has as a waiter no longer. */
  arrive(entries: readonly InboxEntry[]): void {
    this.knownToStore = -1;
    this.#waits.arrive(entries);
  }

  takeMatch(): Match | null {
    return this.#waits.takeMatch();
  }

  /** A step to try again, or a wait whose time is up; the wait is open until it is ended. */
  takeDue(now: number): StepCommand | WaitCommand | null {
    return this.#deadlines?.takeDue(now) ?? null;
  }

  has(wait: WaitCommand): boolean {
    return this.#waits.has(wait);
  }

  /** What there is for a wait, up to its count. */
  entriesFor(wait: WaitCommand): readonly InboxEntry[] {
    return this.#waits.entriesFor(wait, 0) ?? [];
  }

  endWait(wait: WaitCommand, entries: readonly InboxEntry[]): void {
    this.#waits.end(wait, entries);
  }

  /** Its deadline counts as not yet come. */
  waitAgain(wait: WaitCommand): void {
    if (wait.until !== null) this.#due(wait.until, wait);
  }

  /** What the store has to know to wake the run, without the waits that are about to end. */
  waitRow(stand: LastProgress, without: ReadonlySet<WaitCommand> = NONE): Wait | null {
    return this.#waits.waitRow(this.nextDeadline, stand, without);
  }

  /** As `toWait`, of a run that does nothing else: each open step waits for its next try. */
  parkedRow(stand: LastProgress): Wait {
    const wait = this.waitRow(stand) ?? { ...NO_WAIT, until: this.nextDeadline, ...stand };
    if (this.#waits.size === this.#byLocation.size) return wait;
    const steps = [...this.#byLocation.values()].filter((command) => command.kind === "step");
    const retries = steps.slice(0, WAIT_OPEN_MAX - wait.open.length).map(retryWait);
    return { ...wait, open: [...wait.open, ...retries], openCount: wait.openCount + steps.length };
  }

  #due(at: number, thing: StepCommand | WaitCommand): void {
    this.#deadlines ??= new DeadlineHeap((other, time) => this.#isDue(other, time));
    this.#deadlines.add(at, thing);
  }

  #isDue(thing: StepCommand | WaitCommand, at: number): boolean {
    if (thing.kind === "wait") return this.#waits.has(thing);
    return this.#byLocation.get(thing.location) === thing && thing.retryAt === at;
  }
}

function retryWait({ location, issuedAt, retryAt }: StepCommand): OpenWait {
  return { location, kind: "retry", since: issuedAt, until: retryAt, arms: [] };
}

/** What a program has asked for, as others look at it. */
export type OpenCommandView = Pick<CommandMap, "size" | "get" | "values">;

/**
 * Commands by their location, in the order they were added. Most programs ask for one thing at a time, and a replay adds and
 * removes one at each record: a single one needs no map.
 */
export class CommandMap {
  #only: Command | null = null;
  /** All of them, while there were several since there was none. */
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

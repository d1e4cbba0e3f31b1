import type { InboxEntry, JournalRecord, Run } from "pawl";

/** What the monitors know of one run: what its row, journal and inbox must be, from what was applied. */
export interface ExpectedRun {
  readonly id: string;
  row: Run;
  /** Of this generation, as it must be. */
  journal: JournalRecord[];
  /** Of this generation, with what loops have dropped. */
  history: JournalRecord[];
  /** Whether the code that wrote its last record, or its end, was the changed one. */
  isChanged: boolean;
  /** Locations of completions, by generation. */
  readonly done: Map<number, Set<string>>;
  /** Who committed the completion at a location of this generation. */
  readonly doneBy: Map<string, { readonly engineId: string; readonly epoch: number }>;
  /** The last failed try of a step of this generation. */
  readonly retries: Map<string, { readonly attempts: number; readonly retryAt: number }>;
  /** How often it was reopened, or set back, by an operator. */
  reopened: number;
  /** Retention has removed it. */
  isGone: boolean;
  /** What the journal tells of each act, by its id. */
  readonly acts: Map<string, string>;
  /** Ids of messages and events that an act laid back into the inbox: what became of them at first is forgotten. */
  readonly restored: Set<string>;
  /** How often a record told that it started this child. */
  readonly spawned: Map<string, number>;
  /** The most claims without progress that it has had. */
  claimsMost: number;
  /** What lies there. */
  inbox: Map<number, InboxEntry>;
  /** All that ever came, by kind and id. */
  readonly known: Map<string, number>;
  /** Ids of messages that were posted to it and answered as accepted. */
  readonly posted: Set<string>;
  /** What was received, by number. */
  readonly received: Set<number>;
  /** The number last received, by kind and name. */
  readonly lastReceived: Map<string, number>;
  /** What the last state that the owner gave said of the inbox. */
  inboxSeen: number;
}

export function newExpectedRun(row: Run): ExpectedRun {
  return {
    id: row.id,
    row,
    journal: [],
    history: [],
    isChanged: true,
    done: new Map(),
    doneBy: new Map(),
    retries: new Map(),
    reopened: 0,
    isGone: false,
    acts: new Map(),
    restored: new Set(),
    spawned: new Map(),
    claimsMost: 0,
    inbox: new Map(),
    known: new Map(),
    posted: new Set(),
    received: new Set(),
    lastReceived: new Map(),
    inboxSeen: 0,
  };
}

export function hasEnded(row: Run): boolean {
  return row.status === "completed" || row.status === "failed" || row.status === "cancelled";
}

export function entryKey(entry: Pick<InboxEntry, "kind" | "id">): string {
  return `${entry.kind}:${entry.id}`;
}

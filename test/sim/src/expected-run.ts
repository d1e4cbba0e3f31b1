import type { InboxEntry, JournalRecord, Run } from "pawl";

/** The state that a run's row, journal and inbox must have after the applied calls. */
export interface ExpectedRun {
  readonly id: string;
  row: Run;
  /** The last worker that owned it, and in which epoch. */
  lastOwner: Pick<Run, "owner" | "epoch">;
  /** The records of this generation. */
  journal: JournalRecord[];
  /** The records of this generation, including those that loops have dropped. */
  history: JournalRecord[];
  /** True if the changed code wrote its last record or its end. */
  isChanged: boolean;
  /** The newest seq if its owner last wrote that it is suspended, and no operator has changed it since. Otherwise null. */
  suspendedAt: number | null;
  /** Locations of completions, by generation. */
  readonly done: Map<number, Set<string>>;
  /** The worker that committed the completion at a location of this generation. */
  readonly doneBy: Map<string, { readonly engineId: string; readonly epoch: number }>;
  /** The last failed attempt of a step of this generation. */
  readonly retries: Map<string, { readonly attempts: number; readonly retryAt: number }>;
  /** The number of times an operator reopened or rewound it. */
  reopened: number;
  /** True if retention has removed it. */
  isGone: boolean;
  /** The result of each operator action as recorded in the journal, by the action's id. */
  readonly actions: Map<string, string>;
  /** Ids of messages and events that an operator action returned to the inbox. Their earlier receipt no longer counts. */
  readonly restored: Set<string>;
  /** The number of records that started a child, by the child's id. */
  readonly spawned: Map<string, number>;
  /** The maximum number of claims without progress. */
  claimsMost: number;
  /** The entries in the inbox, by number. */
  inbox: Map<number, InboxEntry>;
  /** All entries that ever arrived, by kind and id. */
  readonly known: Map<string, number>;
  /** Ids of messages that were posted to it and answered as accepted. */
  readonly posted: Set<string>;
  /** Ids of messages that were answered with `delivered`, since the owner's last append. */
  readonly delivered: Set<string>;
  /** The numbers of the received entries. */
  readonly received: Set<number>;
  /** The number last received, by kind and name. */
  readonly lastReceived: Map<string, number>;
  /** The inbox revision in the last state that the owner wrote. */
  inboxSeen: number;
}

export function newExpectedRun(row: Run): ExpectedRun {
  return {
    id: row.id,
    row,
    lastOwner: { owner: row.owner, epoch: row.epoch },
    journal: [],
    history: [],
    isChanged: true,
    suspendedAt: null,
    done: new Map(),
    doneBy: new Map(),
    retries: new Map(),
    reopened: 0,
    isGone: false,
    actions: new Map(),
    restored: new Set(),
    spawned: new Map(),
    claimsMost: 0,
    inbox: new Map(),
    known: new Map(),
    posted: new Set(),
    delivered: new Set(),
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

import type { JournalRecord } from "./model/record.ts";
import type { Status, TerminalStatus } from "./model/run.ts";

/** One thing that a run waits for. */
export interface WaitingFor {
  readonly location: string;
  /** The kind of the record that will end it; `retry`: the next try of the step there. */
  readonly kind: string;
  readonly since: number | null;
  /** Its deadline, epoch ms. */
  readonly until: number | null;
  readonly messages: readonly string[];
  readonly topics: readonly string[];
  readonly children: readonly ChildWaitedFor[];
}

export interface ChildWaitedFor {
  readonly location: string;
  /** Null where the child was not found among the newest children. */
  readonly runId: string | null;
  readonly status: Status | null;
}

/** Why a run is where it is. */
export type Why =
  | { readonly kind: "ended"; readonly status: TerminalStatus; readonly error: Error | null }
  /** It ended its workers again and again without making progress. */
  | { readonly kind: "poisoned"; readonly error: Error }
  /** Its code does not fit its journal; it goes on when fixed code is deployed and it is resumed. */
  | { readonly kind: "diverged"; readonly error: Error }
  | { readonly kind: "paused"; readonly error: Error | null }
  /** It was started with a delay. */
  | { readonly kind: "delayed"; readonly until: number }
  /** It is due, and no worker that lives knows its workflow in its version; `versions` are those that are known. */
  | { readonly kind: "noWorker"; readonly dueAt: number; readonly versions: readonly number[] }
  /** It is due, and is taken when a worker has room. After claims without progress it is worked on beside no other such. */
  | { readonly kind: "waitsForRoom"; readonly dueAt: number; readonly claims: number }
  /** Its worker is silent for longer than its lease: another takes the run over. */
  | { readonly kind: "ownerGone"; readonly owner: string; readonly silentSince: number | null }
  | { readonly kind: "working" }
  /** Something has come, or a deadline: its worker is about to go on. */
  | { readonly kind: "ready"; readonly dueAt: number }
  /** A step failed and is tried again. */
  | {
      readonly kind: "backingOff";
      readonly location: string;
      readonly attempts: number | null;
      readonly error: Error | null;
      readonly until: number | null;
    }
  | { readonly kind: "waiting" };

/** Where a run is and why, as it was at `at`. */
export interface Explanation {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly status: Status;
  readonly why: Why;
  /** The same for people, in one line. */
  readonly sentence: string;
  /** When it ended, came to rest, or became due, by `why`; null where nothing says so. */
  readonly since: number | null;
  /** At most 20; `waitsCount` says how many there are. */
  readonly waits: readonly WaitingFor[];
  readonly waitsCount: number;
  readonly owner: { readonly id: string; readonly isAlive: boolean; readonly expiresAt: number | null } | null;
  /** Workers that live, and how many of them know the run's workflow in its version. */
  readonly workers: { readonly live: number; readonly knowing: number };
  /** When a worker looks at it next if nothing comes before. */
  readonly nextDueAt: number | null;
  readonly lastRecord: Pick<JournalRecord, "seq" | "location" | "kind" | "outcome" | "at"> | null;
  readonly at: number;
}

import type { RecordKind, Status } from "pawl";
import type { CallAction } from "./load/scenario.ts";

/** What processes tell the ledger. Times are epoch ms by the machine's clock, which all processes share. */
export type Entry =
  /** One try of a step body begins; `body` is unique to it, and the epoch is the one under which its run was loaded. */
  | {
      readonly kind: "begin";
      readonly body: string;
      readonly run: string;
      readonly round: number;
      readonly location: string;
      readonly attempt: number;
      readonly epoch: number;
      readonly at: number;
    }
  | { readonly kind: "end"; readonly body: string; readonly outcome: "returned" | "threw"; readonly at: number }
  /** The store has heard that the process's worker lives; `sentAt` is before the call, `at` after it. */
  | { readonly kind: "beat"; readonly sentAt: number; readonly at: number; readonly alive: boolean }
  /** The process has heard that a record is committed. */
  | {
      readonly kind: "record";
      readonly run: string;
      readonly seq: number;
      readonly location: string;
      readonly record: RecordKind;
      readonly digest: string;
    }
  /** A client is about to call, and has its answer. */
  | { readonly kind: "sent"; readonly action: CallAction }
  | { readonly kind: "acked"; readonly action: CallAction; readonly answer: string }
  /** A client was told how a run ended. */
  | { readonly kind: "result"; readonly run: string; readonly status: Status; readonly output: unknown }
  | { readonly kind: "broken"; readonly text: string }
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals; readonly at: number }
  /** The process is gone; `asked` says whether it was told or forced to. */
  | { readonly kind: "exit"; readonly code: number | null; readonly asked: boolean };

export type EntryKind = Entry["kind"];
export type EntryOf<Kind extends EntryKind> = Extract<Entry, { kind: Kind }>;

/** An entry in its place: numbers follow the order in which the ledger heard of things. */
export type Line<Kind extends EntryKind = EntryKind> = EntryOf<Kind> & {
  readonly n: number;
  /** The process that it is about. */
  readonly process: string;
};

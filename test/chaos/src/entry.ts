import type { RecordKind, Status } from "pawl";
import type { CallAction } from "./load/scenario.ts";

/** An event that a process reports to the ledger. Times are epoch ms of the host's clock, which all processes share. */
export type Entry =
  /** One attempt of a step body starts. `body` is its unique id, and `epoch` the one with which its run was loaded. */
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
  /** The store acknowledged a heartbeat of the process's worker. `sentAt` is before the call, `at` after it. */
  | { readonly kind: "heartbeat"; readonly sentAt: number; readonly at: number; readonly alive: boolean }
  /** The process was notified that a record is committed. */
  | {
      readonly kind: "record";
      readonly run: string;
      readonly seq: number;
      readonly location: string;
      readonly record: RecordKind;
      readonly digest: string;
    }
  /** A client is about to make a call; a client has received the answer. */
  | { readonly kind: "sent"; readonly action: CallAction }
  | { readonly kind: "acked"; readonly action: CallAction; readonly answer: string }
  /** A client received the result of a run. */
  | { readonly kind: "result"; readonly run: string; readonly status: Status; readonly output: unknown }
  | { readonly kind: "broken"; readonly text: string }
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals; readonly at: number }
  /** The process has exited. `asked` is true if it was requested or killed. */
  | { readonly kind: "exit"; readonly code: number | null; readonly asked: boolean };

export type EntryKind = Entry["kind"];
export type EntryOf<Kind extends EntryKind> = Extract<Entry, { kind: Kind }>;

/** An entry with its number, in the order in which the ledger received it. */
export type Line<Kind extends EntryKind = EntryKind> = EntryOf<Kind> & {
  readonly n: number;
  /** The process that reported the entry. */
  readonly process: string;
};

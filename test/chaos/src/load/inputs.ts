import type { RunOutput } from "./run-output.ts";

/** The inputs of the load's workflows, by name. */
export interface Inputs {
  /** Steps in sequence, of which one is retried; a sleep; an ephemeral step; a step that fails finally. */
  readonly chain: {
    readonly salt: string;
    readonly steps: number;
    readonly fails: number;
    readonly napMs: number;
    readonly hopeless: boolean;
  };
  /** Receives notes one by one, waits with a timeout for one that may not come, then receives several at once. */
  readonly mailbox: {
    readonly salt: string;
    readonly notes: number;
    readonly bulk: number;
    readonly patienceMs: number;
  };
  /** A slow step beside a wait with a timeout and a sleep. */
  readonly together: { readonly salt: string; readonly slowMs: number; readonly patienceMs: number };
  /** One message and one step per generation. */
  readonly relay: {
    readonly salt: string;
    readonly rounds: number;
    readonly round: number;
    readonly output: RunOutput;
  };
  /** Two parallel children beside a step, then a child that is started first and awaited later. */
  readonly family: { readonly salt: string; readonly napMs: number };
  /** Two runs that send messages to each other. */
  readonly ping: { readonly salt: string; readonly to: string; readonly count: number; readonly topic: string };
  readonly pong: { readonly salt: string; readonly to: string; readonly count: number };
  /** Events for one waiter, and one event for all waiters. */
  readonly gather: { readonly salt: string; readonly topic: string; readonly count: number; readonly bell: string };
  /** Is cancelled, unless it has ended before. Its child is cancelled with it. */
  readonly doomed: { readonly salt: string; readonly napMs: number };
  /** Transactions beside steps. Every third transaction fails. */
  readonly transactions: { readonly salt: string; readonly lines: number };
  /**
   * Two children pay while another branch may fail; a wait with a timeout; a receipt to the auditor. What was paid is undone when it fails
   * or is cancelled. `clash`: a branch fails beside the payments. `chase`: a branch fails when the last payment ends. `refuse`: it fails
   * after them.
   */
  readonly transfer: {
    readonly salt: string;
    readonly auditor: string;
    readonly napMs: number;
    readonly clashMs: number;
    readonly patienceMs: number;
    readonly fate: "settle" | "clash" | "chase" | "refuse";
  };
  /** A payment with a rollback, then a step without one. Reports its end to a run, in the commit that ends it. */
  readonly pay: { readonly salt: string; readonly napMs: number; readonly reportTo: string };
  /** Receives the receipts of transfers. */
  readonly auditor: { readonly salt: string; readonly count: number; readonly patienceMs: number };
  /** Receives the events that are left on a topic. */
  readonly sweep: { readonly salt: string; readonly topic: string };
}

export type WorkflowName = keyof Inputs;

/** Topics are shared by all runs, so that waiters of different runs compete. */
export const TOPICS = ["apples", "pears", "plums"] as const;

export const EMPTY_OUTPUT: RunOutput = { value: 0, bodies: [], received: [] };

/** The attempts of steps that fail finally. */
export const HOPELESS_ATTEMPTS = 2;

/** An id contains the sender, the name and the number: `c12.note.3`. */
export function postId(sender: string, name: string, k: number): string {
  return `${sender}.${name}.${k}`;
}

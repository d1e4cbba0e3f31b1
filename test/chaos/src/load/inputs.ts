import type { Told } from "./told.ts";

/** The inputs of the load's workflows, by name. */
export interface Inputs {
  /** Steps one after the other, one of which fails a few times first; a sleep; a step that is ephemeral; one that fails for good. */
  readonly chain: {
    readonly salt: string;
    readonly steps: number;
    readonly fails: number;
    readonly napMs: number;
    readonly hopeless: boolean;
  };
  /** Receives notes one by one, waits a while for one that may never come, then takes what there is of a few at once. */
  readonly mailbox: {
    readonly salt: string;
    readonly notes: number;
    readonly bulk: number;
    readonly patienceMs: number;
  };
  /** A slow step beside a wait with a timeout and a sleep. */
  readonly together: { readonly salt: string; readonly slowMs: number; readonly patienceMs: number };
  /** One message and one step a generation. */
  readonly relay: { readonly salt: string; readonly rounds: number; readonly round: number; readonly told: Told };
  /** Two children at once beside a step of its own, then one that it starts first and waits for later. */
  readonly family: { readonly salt: string; readonly napMs: number };
  /** Two runs that write to each other. */
  readonly ping: { readonly salt: string; readonly to: string; readonly count: number; readonly topic: string };
  readonly pong: { readonly salt: string; readonly to: string; readonly count: number };
  /** Events: some that one waiter gets, and one that every waiter gets. */
  readonly gather: { readonly salt: string; readonly topic: string; readonly count: number; readonly bell: string };
  /** Is cancelled, or has ended before; has a child that goes with it. */
  readonly doomed: { readonly salt: string; readonly napMs: number };
  /** Transactions beside steps, every third of which takes back what it wrote. */
  readonly books: { readonly salt: string; readonly lines: number };
  /** Takes what was left on a topic. */
  readonly sweep: { readonly salt: string; readonly topic: string };
}

export type WorkflowName = keyof Inputs;

/** Topics are shared by all runs, so that waiters of different runs compete. */
export const TOPICS = ["apples", "pears", "plums"] as const;

export const NOTHING_TOLD: Told = { value: 0, bodies: [], received: [] };

/** How often the steps that fail for good are tried. */
export const HOPELESS_ATTEMPTS = 2;

/** Ids say who sent, under which name, as which: `c12.note.3`. */
export function parcelId(sender: string, name: string, k: number): string {
  return `${sender}.${name}.${k}`;
}

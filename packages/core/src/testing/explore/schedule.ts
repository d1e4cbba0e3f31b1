/** What goes wrong with a call of the store: the first is 1, counted over all processes. */
export type CallFault =
  /** The process ends; the call is applied still or is not. */
  | { readonly kind: "crash"; readonly call: number; readonly applied: boolean }
  /** The call fails; it was applied or not. */
  | { readonly kind: "error"; readonly call: number; readonly applied: boolean }
  /** It takes long. */
  | { readonly kind: "delay"; readonly call: number }
  /** The store can't be reached for a while. */
  | { readonly kind: "outage"; readonly call: number }
  /** The process is taken for dead in the middle of it, and goes on when another has taken its runs. */
  | { readonly kind: "pause"; readonly call: number }
  /** The process is shut down as it should be. */
  | { readonly kind: "shutdown"; readonly call: number }
  /** The store's clock is set. */
  | { readonly kind: "clockJump"; readonly call: number; readonly ms: number };

/** What goes wrong with the body of a step: the first is 1, counted over all processes. */
export type BodyFault =
  /** The process ends, before the body runs or when it has run. */
  | { readonly kind: "crashInStep"; readonly body: number; readonly ran: boolean }
  /** It never comes back, and its process is ended for it. */
  | { readonly kind: "hang"; readonly body: number }
  /** It throws once, before it has done anything or when it has done everything. */
  | { readonly kind: "flake"; readonly body: number; readonly ran: boolean };

/** What is so all the time. */
export type LastingFault =
  /** The clocks of processes are off by this much. */
  | { readonly kind: "skew"; readonly ms: number }
  /** What a process is told of the others' work is lost, told twice, or told late. */
  | { readonly kind: "hints"; readonly how: "lost" | "twice" | "late" }
  /** The start, and each message and event, is sent twice with one id. */
  | { readonly kind: "twice" }
  /** Bodies take different times, so that they end in another order. */
  | { readonly kind: "order"; readonly seed: number };

/** What goes wrong in one run of the workflow. As far as its first fault, a schedule goes as it does without it. */
export type Fault = CallFault | BodyFault | LastingFault;

/** What is meant to happen: everything goes well, a step fails for good, or the run is cancelled at one of its rests. */
export type Interleaving =
  | { readonly kind: "calm" }
  | { readonly kind: "fail"; readonly step: string }
  | { readonly kind: "cancel"; readonly rest: number };

/** One way in which a run of the workflow may go. Plain data: kept in a test, it is played again. */
export interface Schedule {
  readonly course: Interleaving;
  readonly faults: readonly Fault[];
}

/** The seed with which all bodies take the same time, and end in their order. */
export const IN_ORDER = 0;

/** Faults that let more time pass than there would be without them. */
const TAKES_TIME: ReadonlySet<Fault["kind"]> = new Set([
  "flake",
  "error",
  "delay",
  "outage",
  "pause",
  "clockJump",
  "skew",
  "hints",
  "order",
]);

export function takesTime({ faults }: Schedule): boolean {
  return faults.some(({ kind }) => TAKES_TIME.has(kind));
}

export function interleavingKey(course: Interleaving): string {
  return JSON.stringify(course);
}

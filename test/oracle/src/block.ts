/**
 * A generated process, as a tree of blocks. A block starts once and ends once, or its token ends inside of it. So the behaviour of the
 * process follows from the behaviour of its blocks.
 */

/** `variable > over`. */
export interface Condition {
  readonly variable: string;
  readonly over: number;
}

export type Trigger =
  | { readonly kind: "message" }
  /** `times` is the number of repetitions. Null if the timer fires once. */
  | { readonly kind: "timer"; readonly minutes: number; readonly times: number | null }
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "condition"; readonly when: Condition }
  /** A null code catches all codes. */
  /** `failures`: it also catches technical failures. */
  | { readonly kind: "error"; readonly code: string | null; readonly failures: boolean }
  | { readonly kind: "escalation"; readonly code: string | null }
  | { readonly kind: "cancel" };

/** A boundary event. The path of a non-interrupting event ends by itself; that of an interrupting event may rejoin the flow after its host. */
export interface BoundaryEvent {
  readonly id: string;
  readonly on: Trigger;
  readonly interrupts: boolean;
  readonly rejoins: boolean;
  readonly path: Block;
}

/** A process, sub-process or event sub-process. */
export interface Scope {
  readonly id: string;
  readonly body: Block;
  readonly handlers: readonly Handler[];
}

/** An event sub-process. */
export interface Handler {
  readonly start: string;
  readonly on: Trigger;
  readonly interrupts: boolean;
  readonly inside: Scope;
}

export type Many =
  | {
      readonly kind: "parallel" | "sequential";
      /** A number, or the name of a variable. */
      readonly count: number | string;
      /** The number of completed instances that is enough. */
      readonly enough: number | null;
      /** True if the results are collected in a variable. */
      readonly collects: boolean;
    }
  | { readonly kind: "loop"; readonly testBefore: boolean; readonly continues: Condition; readonly max: number | null };

export type ActivityBody =
  | { readonly kind: "work" | "user" | "receive" | "call" }
  | { readonly kind: "sub"; readonly isTransaction: boolean; readonly scope: Scope };

export interface Activity {
  readonly kind: "activity";
  readonly id: string;
  readonly does: ActivityBody;
  readonly boundaryEvents: readonly BoundaryEvent[];
  readonly many: Many | null;
  /** Its compensation task. */
  readonly undo: string | null;
}

export interface Fork {
  readonly kind: "fork";
  readonly id: string;
  readonly gateway: "exclusive" | "parallel" | "inclusive" | "complex";
  readonly branches: ReadonlyArray<{ readonly when: Condition | "always" | "default"; readonly body: Block }>;
  /** The number of tokens that is enough for a complex join. */
  readonly enough: number;
}

export interface Race {
  readonly kind: "race";
  readonly id: string;
  readonly branches: ReadonlyArray<{ readonly id: string; readonly on: Trigger; readonly body: Block }>;
}

export type Thrown =
  | { readonly kind: "escalation"; readonly code: string }
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "message" }
  /** Of one activity of the scope, or of all if null. */
  | { readonly kind: "compensation"; readonly of: string | null };

export type Ended =
  | { readonly kind: "none" | "terminate" | "cancel" }
  | { readonly kind: "error" | "escalation"; readonly code: string };

export type Block =
  | { readonly kind: "seq"; readonly blocks: readonly Block[] }
  | Activity
  | { readonly kind: "catch"; readonly id: string; readonly on: Trigger }
  | { readonly kind: "throw"; readonly id: string; readonly thrown: Thrown }
  | { readonly kind: "end"; readonly id: string; readonly thrown: Ended }
  /** A link and its target. */
  | { readonly kind: "link"; readonly id: string }
  | Fork
  | Race
  | { readonly kind: "repeat"; readonly id: string; readonly body: Block; readonly again: Condition };

export const VARIABLES: readonly string[] = ["v1", "v2", "v3"];
export const ERRORS: readonly string[] = ["E1", "E2", "E3"];
export const ESCALATIONS: readonly string[] = ["X1", "X2", "X3"];
/** Each signal is caught by at most one element. */
export const SIGNALS: readonly string[] = ["g1", "g2", "g3"];

/** True if a flow leads out of the block. */
export function isPassable(block: Block): boolean {
  switch (block.kind) {
    case "seq":
      return block.blocks.every(isPassable);
    case "end":
      return false;
    case "fork":
    case "race":
      return block.branches.some(({ body }) => isPassable(body));
    case "repeat":
      return isPassable(block.body);
    case "activity":
    case "catch":
    case "throw":
    case "link":
      return true;
  }
}

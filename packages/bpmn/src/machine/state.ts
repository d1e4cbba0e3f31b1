import type { TaskFacts } from "../model/human-task.ts";
import type { EventTrigger } from "../model/process.ts";

/**
 * The state of one process instance: a tree of rows, what they wait for, and what they have asked the kernel for. All of it is
 * JSON. A row is there while its element is active; what has ended leaves a count behind.
 */
export interface State {
  readonly rows: readonly Row[];
  readonly subscriptions: readonly Subscription[];
  readonly commands: readonly Command[];
  /** How often each name of a location was used. */
  readonly locationCounts: Readonly<Record<string, number>>;
  /** How often each element has completed. */
  readonly completed: Readonly<Record<string, number>>;
  readonly nextId: number;
  readonly ending: Ending | null;
}

export type Variables = Readonly<Record<string, unknown>>;

export type Ending =
  | { readonly kind: "completed"; readonly variables: Variables }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly variables: Variables };

/** An active element. Rows are a tree: the process is the root, scopes and bodies of loops hold others. */
export interface Row {
  readonly id: number;
  /** 0: none. */
  readonly parent: number;
  readonly element: string;
  /** Where in the journal it is: the element's id, with a number from the second time on. */
  readonly location: string;
  /** Active rows below it, and tokens on their way in it. */
  children: number;
  pending: number;
  /** Neighbours below the same parent, and the ends of the own list; 0: none. */
  first: number;
  last: number;
  previous: number;
  next: number;
  /** Its own variables; null: it has none. */
  variables: Record<string, unknown> | null;
  /** What came with its trigger, or what its handler gave; null: nothing yet. */
  result: Variables | null;
  /** How often it has asked the kernel for something of a kind; null: never. */
  commandCounts: Partial<Record<RowCommand, number>> | null;
  /** Which of a loop's instances it is, from 0; null: it is none. */
  instance: number | null;
  incident: Incident | null;
  role: Role;
}

/** What a row asks the kernel for, as the last part of its name in the journal. */
export type RowCommand =
  | "work"
  | "task"
  | "due"
  | "overdue"
  | "call"
  | "event"
  | "publish"
  | "send"
  | "signal"
  | "escalate";

/** Something that can be undone: by an activity of the model, or inside a scope that has completed. */
export interface Undoable {
  readonly element: string;
  readonly handler: string | null;
  readonly inner: readonly Undoable[];
  /** What completed later has a greater number. */
  readonly order: number;
  /** The scope's variables when it completed. */
  readonly variables: Readonly<Record<string, unknown>> | null;
}

export type Role =
  /** A process, a sub-process, an event sub-process. */
  | {
      readonly kind: "scope";
      /** Tokens that wait at joins: by gateway, by flow. */
      readonly joins: Record<string, Record<string, number>>;
      /** Complex gateways that have fired and wait for the rest: the flows whose tokens they have. */
      readonly resets: Record<string, string[]>;
      undo: Undoable[];
      /** The event sub-process that has interrupted it. */
      interruptedBy: string | null;
      /** Of a sequential ad-hoc sub-process: what is still to begin. */
      waiting: string[];
    }
  | { readonly kind: "plain" }
  /** Several instances, or rounds, of one activity. */
  | {
      readonly kind: "loop";
      /** Null: until a condition is met. */
      readonly total: number | null;
      readonly items: readonly unknown[] | null;
      started: number;
      ended: number;
      readonly outputs: unknown[];
      undo: Undoable[];
    }
  /** Undoes one after the other; then it goes on as its element does. */
  | {
      readonly kind: "undoing";
      queue: Undoable[];
      /** What an event sub-process that undoes the scope in its own way may throw compensation for. */
      undo: Undoable[];
      readonly after: "leave" | "cancelled" | "undone";
    };

/** What an element waits for. `row` is what it is attached to. */
export interface Subscription {
  readonly location: string;
  readonly row: number;
  /** The event element, or the receive task. */
  readonly element: string;
  /** Which of the element's triggers. */
  readonly index: number;
  readonly trigger: EventTrigger;
  /** Of a signal: its name, computed. */
  readonly name: string | null;
  /** Of a condition: whether it was true when it was last looked at. Only a change counts. */
  wasTrue: boolean;
  /** Of a timer: when it is due, and how often still. */
  readonly due: { readonly at: number; readonly left: number | null } | null;
}

export type IncidentKind =
  | "failed"
  | "expression"
  | "noFlow"
  | "noHandler"
  | "uncaughtError"
  | "joinDeadlock"
  | "invalid"
  | "call";

/** An element that can't go on by itself. */
export interface Incident {
  readonly kind: IncidentKind;
  readonly message: string;
  readonly at: number;
  /** What is done again when it is retried. */
  readonly retryFrom: RetryPoint;
}

/** `begin`: the element from its beginning; `work`: its handler; `complete`, `leave`: its end. */
export type RetryPoint = "start" | "work" | "complete" | "leave";

/** What the machine asks of the kernel. Each is open until its completion comes back, or it is cancelled. */
export type Command =
  /** What the handler sees is what its row sees when it is called. */
  | { readonly kind: "work"; readonly location: string; readonly row: number }
  | { readonly kind: "timer"; readonly location: string; readonly dueAt: number }
  | { readonly kind: "message"; readonly location: string; readonly name: string; readonly key: string }
  /** Signals that were sent before `since` are not meant. */
  | { readonly kind: "signal"; readonly location: string; readonly name: string; readonly since: number }
  /** Facts are left out by those who knew of none. */
  | { readonly kind: "task"; readonly location: string; readonly row: number; readonly facts?: TaskFacts }
  /** When the task at a location is overdue. */
  | {
      readonly kind: "due";
      readonly location: string;
      readonly row: number;
      readonly task: string;
      readonly dueAt: number;
    }
  | {
      readonly kind: "call";
      readonly location: string;
      readonly row: number;
      readonly called: string;
      readonly version: number | null;
      /** False: it is over when what it calls has been told to start. */
      readonly waits: boolean;
    }
  /** Told to all who listen: the task at a location is overdue. */
  | { readonly kind: "overdue"; readonly location: string; readonly task: string }
  | Outgoing;

/** Told to others; nothing comes back. */
export type Outgoing =
  /** A message, to definitions that begin with it. */
  | { readonly kind: "publish"; readonly location: string; readonly name: string; readonly variables: Variables }
  /** The same, to the one instance that waits for it. */
  | {
      readonly kind: "correlate";
      readonly location: string;
      readonly name: string;
      readonly key: string;
      readonly variables: Variables;
    }
  | { readonly kind: "broadcast"; readonly location: string; readonly name: string; readonly variables: Variables }
  | {
      readonly kind: "escalate";
      readonly location: string;
      readonly code: string | null;
      readonly variables: Variables;
    };

/** What has happened, as the machine gets it. `at` is the run's time. */
export type MachineEvent = { readonly at: number } & (
  | { readonly kind: "started"; readonly variables: Variables; readonly startedBy: StartedBy | null }
  | { readonly kind: "completed"; readonly location: string; readonly variables: Variables; readonly value: unknown }
  /** What was to be told has been. */
  | { readonly kind: "sent"; readonly location: string }
  /** What has come is not meant: a signal of the instance's own, which it has heard already, or one from before it listened. */
  | { readonly kind: "ownSignal"; readonly location: string }
  | { readonly kind: "failed"; readonly location: string; readonly message: string; readonly reason: IncidentKind }
  | {
      readonly kind: "threw";
      readonly location: string;
      readonly code: string;
      readonly message: string;
      readonly variables: Variables;
    }
  /** A called process has escalated. */
  | {
      readonly kind: "escalated";
      readonly location: string;
      readonly code: string | null;
      readonly variables: Variables;
    }
  | OperatorAction
);

/** The trigger that began an instance. */
export interface StartedBy {
  readonly element: string;
  readonly variables: Variables;
}

/** What an operator does to an instance. One that does not apply changes nothing. */
export type OperatorAction =
  | { readonly kind: "setVariables"; readonly row: number | null; readonly variables: Variables }
  | { readonly kind: "retry"; readonly row: number }
  /** The element counts as done, with these variables. */
  | { readonly kind: "skip"; readonly row: number; readonly variables: Variables }
  | { readonly kind: "cancelToken"; readonly row: number }
  | { readonly kind: "moveToken"; readonly row: number; readonly to: string }
  | { readonly kind: "addToken"; readonly to: string; readonly variables: Variables };

export interface AdvanceResult {
  readonly state: State;
  /** Asked for since, in order. */
  readonly commands: readonly Command[];
  /** Places of open commands that are not needed any more. */
  readonly cancelled: readonly string[];
}

import type { TaskFacts } from "../model/human-task.ts";
import type { Binding, EventTrigger, Listener } from "../model/process.ts";

/**
 * The state of one process instance, as JSON: a tree of rows, their subscriptions and their open commands. A row exists while
 * its element is active; an ended element leaves only a count.
 */
export interface State {
  readonly rows: readonly Row[];
  readonly subscriptions: readonly Subscription[];
  readonly commands: readonly Command[];
  /** How often each name was used as a location. */
  readonly locationCounts: Readonly<Record<string, number>>;
  readonly completed: Readonly<Record<string, number>>;
  readonly nextId: number;
  readonly ending: Ending | null;
}

export type Variables = Readonly<Record<string, unknown>>;

export type Ending =
  | { readonly kind: "completed"; readonly variables: Variables }
  | { readonly kind: "failed"; readonly code: string; readonly message: string; readonly variables: Variables };

/** An active element. The process is the root of the tree; scopes and loops have children. */
export interface Row {
  readonly id: number;
  /** 0 if there is none. */
  readonly parent: number;
  readonly element: string;
  /** Its location in the journal: the element id, with `#2` from the second activation on. */
  readonly location: string;
  /** Child rows, and tokens moving in this scope. */
  children: number;
  pending: number;
  /** The children as a linked list. 0 if there is none. */
  first: number;
  last: number;
  previous: number;
  next: number;
  /** Its local variables. Null if it has none. */
  variables: Record<string, unknown> | null;
  /** The variables of its trigger, or the result of its handler. Null until there is one. */
  result: Variables | null;
  /** How many commands of each kind it has issued. Null if none. */
  commandCounts: Partial<Record<RowCommand, number>> | null;
  /** The index of this instance in its loop, from 0. Null outside of loops. */
  instance: number | null;
  incident: Incident | null;
  role: Role;
}

/** The last part of the location of a row's command. */
export type RowCommand =
  | "work"
  | "listener"
  | "task"
  | "due"
  | "overdue"
  | "call"
  | "event"
  | "publish"
  | "send"
  | "signal"
  | "escalate";

/** A completed activity that can be compensated: by its handler, or by compensating the activities inside it. */
export interface Undoable {
  readonly element: string;
  readonly handler: string | null;
  readonly inner: readonly Undoable[];
  /** Activities that completed later have greater numbers. */
  readonly order: number;
  /** The variables of the scope when it completed. */
  readonly variables: Readonly<Record<string, unknown>> | null;
}

export type Role =
  /** A process, a sub-process or an event sub-process. */
  | {
      readonly kind: "scope";
      /** Number of tokens that wait at joins, by gateway and flow. */
      readonly joins: Record<string, Record<string, number>>;
      /** Complex gateways that have fired and wait for their remaining flows: the flows received so far. */
      readonly resets: Record<string, string[]>;
      undo: Undoable[];
      /** The event sub-process that interrupted this scope. */
      interruptedBy: string | null;
      /** Elements of a sequential ad-hoc sub-process that have not started yet. */
      waiting: string[];
    }
  | { readonly kind: "plain" }
  /** The instances or iterations of one activity. */
  | {
      readonly kind: "loop";
      /** Null if a condition ends the loop. */
      readonly total: number | null;
      readonly items: readonly unknown[] | null;
      started: number;
      ended: number;
      readonly outputs: unknown[];
      undo: Undoable[];
    }
  /** Compensates the queued activities one by one, then continues as `after` says. */
  | {
      readonly kind: "undoing";
      queue: Undoable[];
      /** The activities that an event sub-process with a compensation start event may compensate itself. */
      undo: Undoable[];
      readonly after: "leave" | "cancelled" | "undone";
    };

/** A trigger that an element waits for. `row` is the row that it belongs to. */
export interface Subscription {
  readonly location: string;
  readonly row: number;
  /** The event element, or the receive task. */
  readonly element: string;
  /** The index of the trigger in its element. */
  readonly index: number;
  readonly trigger: EventTrigger;
  /** The evaluated name of a signal. */
  readonly name: string | null;
  /** Whether a condition was true at its last check. Only a change to true triggers. */
  wasTrue: boolean;
  /** When a timer is due, and how many repetitions are left. */
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

/** A failure that stops an element until an operator acts. */
export interface Incident {
  readonly kind: IncidentKind;
  readonly message: string;
  readonly at: number;
  /** Where a retry starts. */
  readonly retryFrom: RetryPoint;
  /** The listener that failed, and its position. A retry starts there. */
  readonly listener?: { readonly index: number; readonly listener: Listener };
}

/** `start`: the whole element. `work`: its handler. `complete`, `leave`: its end. */
export type RetryPoint = "start" | "work" | "complete" | "leave";

/** A request of the machine to the kernel. It is open until its completion arrives or it is cancelled. */
export type Command =
  /** Calls the handler, with the variables that the row sees at that moment. */
  | { readonly kind: "work"; readonly location: string; readonly row: number }
  /** Calls the handler of a listener. `index` is its position in the element. */
  | {
      readonly kind: "listener";
      readonly location: string;
      readonly row: number;
      readonly index: number;
      readonly listener: Listener;
    }
  | { readonly kind: "timer"; readonly location: string; readonly dueAt: number }
  | { readonly kind: "message"; readonly location: string; readonly name: string; readonly key: string }
  /** Signals sent before `since` do not count. */
  | { readonly kind: "signal"; readonly location: string; readonly name: string; readonly since: number }
  /** `facts` is missing in commands of older snapshots. */
  | { readonly kind: "task"; readonly location: string; readonly row: number; readonly facts?: TaskFacts }
  /** A timer for the due date of a task. */
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
      readonly binding?: Binding;
      /** False if the call completes as soon as the child is started. */
      readonly waits: boolean;
    }
  /** Emits the event that a task is overdue. */
  | { readonly kind: "overdue"; readonly location: string; readonly task: string }
  | Outgoing;

/** A message, signal or escalation to other runs. It has no result. */
export type Outgoing =
  /** A message to definitions that start with it. */
  | { readonly kind: "publish"; readonly location: string; readonly name: string; readonly variables: Variables }
  /** The same message, to the one instance that waits for it. */
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

/** An input of the machine. `at` is the time of the run. */
export type MachineEvent = { readonly at: number } & (
  | { readonly kind: "started"; readonly variables: Variables; readonly startedBy: StartedBy | null }
  | { readonly kind: "completed"; readonly location: string; readonly variables: Variables; readonly value: unknown }
  /** An outgoing message was committed. */
  | { readonly kind: "sent"; readonly location: string }
  /** A signal that does not count: sent by this instance, or before it waited. */
  | { readonly kind: "ownSignal"; readonly location: string }
  | { readonly kind: "failed"; readonly location: string; readonly message: string; readonly reason: IncidentKind }
  | {
      readonly kind: "threw";
      readonly location: string;
      readonly code: string;
      readonly message: string;
      readonly variables: Variables;
    }
  /** A called process threw an escalation. */
  | {
      readonly kind: "escalated";
      readonly location: string;
      readonly code: string | null;
      readonly variables: Variables;
    }
  | OperatorAction
);

/** The trigger that started an instance. */
export interface StartedBy {
  readonly element: string;
  readonly variables: Variables;
}

/** An operator action on an instance. An action that does not apply changes nothing. */
export type OperatorAction =
  | { readonly kind: "setVariables"; readonly row: number | null; readonly variables: Variables }
  | { readonly kind: "retry"; readonly row: number }
  /** Completes the element with these variables, without executing it. */
  | { readonly kind: "skip"; readonly row: number; readonly variables: Variables }
  | { readonly kind: "cancelToken"; readonly row: number }
  | { readonly kind: "moveToken"; readonly row: number; readonly to: string }
  | { readonly kind: "addToken"; readonly to: string; readonly variables: Variables }
  /** Names this point of the run. Changes nothing. */
  | { readonly kind: "snapshot"; readonly name: string; readonly by: string | null; readonly why: string | null };

export interface AdvanceResult {
  readonly state: State;
  /** New commands, in order. */
  readonly commands: readonly Command[];
  /** Locations of open commands that are no longer needed. */
  readonly cancelled: readonly string[];
}

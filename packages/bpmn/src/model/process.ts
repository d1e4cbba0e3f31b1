/** A process as the machine runs it: immutable, indexed, the same whether it came from BPMN XML or from a JSON graph. */

/** Text in a model. `static` text stands for itself; else it is evaluated: FEEL unless `language` says otherwise. */
export interface Expression {
  readonly text: string;
  readonly language: string | null;
  readonly isStatic: boolean;
}

/** What an event waits for, or brings about. */
export type EventTrigger =
  | { readonly kind: "message"; readonly name: string; readonly key: Expression | null }
  | { readonly kind: "signal"; readonly name: Expression }
  | { readonly kind: "timer"; readonly timer: "date" | "duration" | "cycle"; readonly value: Expression }
  /** Code null: every error. */
  | { readonly kind: "error"; readonly code: string | null }
  | { readonly kind: "escalation"; readonly code: string | null }
  | { readonly kind: "conditional"; readonly condition: Expression }
  | { readonly kind: "link"; readonly name: string }
  | { readonly kind: "compensation"; readonly activity: string | null; readonly waits: boolean }
  | { readonly kind: "cancel" }
  | { readonly kind: "terminate" };

/** `source` evaluated before (inputs) or after (outputs) an activity; its value goes to the variable `target`. */
export interface Mapping {
  readonly source: Expression;
  readonly target: string;
}

export interface MultiInstance {
  readonly kind: "multi";
  readonly sequential: boolean;
  readonly cardinality: Expression | null;
  readonly collection: Expression | null;
  /** The variable that holds the item in each instance. */
  readonly item: string | null;
  /** Gathers a value of each instance, at the item's place. */
  readonly output: { readonly variable: string; readonly element: Expression } | null;
  readonly completion: Expression | null;
  /** What instances throw, to the events on the activity, when they complete. */
  readonly throws: readonly InstanceThrow[];
}

/**
 * `when`: each completion, the first one, or one for which the condition is true. Such a condition ends the activity too: what is
 * left of its instances goes, and its token goes on.
 */
export interface InstanceThrow {
  readonly when: "each" | "first" | Expression;
  readonly trigger: EventTrigger | null;
}

export interface StandardLoop {
  readonly kind: "standard";
  readonly testBefore: boolean;
  readonly condition: Expression | null;
  readonly maximum: number | null;
}

/** How a failing handler is tried again, before there is an incident. */
export interface RetrySetting {
  readonly maxAttempts: number;
  readonly backoff: "exponential" | "linear" | "fixed";
  readonly initialMs: number;
  readonly maxMs: number;
  readonly jitter: number;
}

interface Node {
  readonly id: string;
  readonly name: string | null;
  /** The process or sub-process that it lies in. */
  readonly scope: string;
  readonly incoming: readonly string[];
  /** In the order in which the model lists them. */
  readonly outgoing: readonly string[];
  readonly line: number | null;
  /** What the model says in extensions, for those who handle the element. */
  readonly properties: Readonly<Record<string, string>>;
}

interface Activity extends Node {
  readonly default: string | null;
  readonly loop: MultiInstance | StandardLoop | null;
  /** Events on its edge, compensation left out. */
  readonly boundaries: readonly string[];
  /** The activity that undoes it. */
  readonly compensatedBy: string | null;
  /** It only ever undoes another. */
  readonly isForCompensation: boolean;
  readonly startQuantity: number;
  readonly completionQuantity: number;
  readonly inputs: readonly Mapping[];
  readonly outputs: readonly Mapping[];
  /** What goes to data objects beside that, where there is something. */
  readonly dataOutputs: readonly Mapping[];
}

export interface EventElement extends Node {
  readonly type: "startEvent" | "intermediateCatchEvent" | "intermediateThrowEvent" | "endEvent" | "boundaryEvent";
  readonly triggers: readonly EventTrigger[];
  /** All of its triggers have to come, not one. */
  readonly isParallel: boolean;
  readonly isInterrupting: boolean;
  readonly attachedTo: string | null;
  readonly outputs: readonly Mapping[];
  /** A thrown message that a handler sends. */
  readonly handler: string | null;
}

export type TaskType =
  | "task"
  | "manualTask"
  | "userTask"
  | "serviceTask"
  | "scriptTask"
  | "businessRuleTask"
  | "sendTask"
  | "receiveTask";

export interface TaskElement extends Activity {
  readonly type: TaskType;
  /** The name of its handler; null: the one for its type. */
  readonly handler: string | null;
  readonly script: { readonly text: string; readonly format: string | null } | null;
  readonly decision: string | null;
  /** Gets what the handler gives; null: each member of it is a variable. */
  readonly resultVariable: string | null;
  /** Of a send or receive task. */
  readonly message: { readonly name: string; readonly key: Expression | null } | null;
  /** A message to this task begins an instance of the process. */
  readonly instantiates: boolean;
  readonly retry: RetrySetting | null;
}

export interface CallElement extends Activity {
  readonly type: "callActivity";
  readonly called: Expression;
  readonly version: number | null;
  /** False: what is called goes on by itself, and the token at once. */
  readonly waits: boolean;
}

export interface SubProcessElement extends Activity {
  readonly type: "subProcess" | "eventSubProcess" | "transaction" | "adHocSubProcess";
  readonly adHoc: {
    readonly sequential: boolean;
    readonly completion: Expression | null;
    readonly cancelsRemaining: boolean;
    /** Which of its elements begin; null: all that nothing leads to. */
    readonly active: Expression | null;
  } | null;
}

export interface GatewayElement extends Node {
  readonly type: "exclusiveGateway" | "parallelGateway" | "inclusiveGateway" | "complexGateway" | "eventBasedGateway";
  readonly default: string | null;
  readonly activation: Expression | null;
  /** Of an event-based gateway: what it waits for begins an instance. `each`: what has not come by then is waited for too. */
  readonly instantiates: "first" | "each" | null;
}

export type ActivityElement = TaskElement | CallElement | SubProcessElement;
export type Element = EventElement | ActivityElement | GatewayElement;
export type ElementType = Element["type"];

export interface Flow {
  readonly id: string;
  readonly name: string | null;
  readonly source: string;
  readonly target: string;
  readonly condition: Expression | null;
}

/** What lies directly in a process or sub-process. */
export interface ScopeGraph {
  readonly id: string;
  readonly elements: readonly string[];
  /** Where it begins when nothing in particular has triggered it. */
  readonly starts: readonly string[];
  readonly eventSubProcesses: readonly string[];
  /** Variables that it has from the beginning, by name. */
  readonly data: readonly string[];
}

export interface Process {
  readonly id: string;
  readonly name: string | null;
  readonly isExecutable: boolean;
  readonly versionTag: string | null;
  readonly elements: ReadonlyMap<string, Element>;
  readonly flows: ReadonlyMap<string, Flow>;
  /** By the id of the process or sub-process. */
  readonly scopes: ReadonlyMap<string, ScopeGraph>;
}

export function isActivity(element: Element): element is ActivityElement {
  return "loop" in element;
}

export function isEvent(element: Element): element is EventElement {
  return "triggers" in element;
}

export function isSubProcess(element: Element): element is SubProcessElement {
  return "adHoc" in element;
}

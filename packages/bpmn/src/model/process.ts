import { juelTemplate } from "../feel/juel.ts";

/** A process as the machine executes it: immutable and indexed. BPMN XML and JSON graphs give the same model. */

/** Text in a model. Static text is the value itself; other text is evaluated, as FEEL unless `language` says otherwise. */
export interface Expression {
  readonly text: string;
  readonly language: string | null;
  readonly isStatic: boolean;
}

/**
 * The trigger that an event waits for, or throws. `computed` is present if the name or code is an expression: it is evaluated when the
 * event waits or throws.
 */
export type EventTrigger =
  | { readonly kind: "message"; readonly name: string; readonly computed?: Expression; readonly key: Expression | null }
  | { readonly kind: "signal"; readonly name: Expression }
  | { readonly kind: "timer"; readonly timer: "date" | "duration" | "cycle"; readonly value: Expression }
  /**
   * A null code matches every error. An event that catches it assigns the code and the message to these variables. `failures`: it also
   * catches a handler or a called process that failed finally.
   */
  | {
      readonly kind: "error";
      readonly code: string | null;
      readonly computed?: Expression;
      readonly codeVariable?: string;
      readonly messageVariable?: string;
      /** The message of a thrown error. */
      readonly message?: Expression;
      readonly failures?: true;
    }
  | {
      readonly kind: "escalation";
      readonly code: string | null;
      readonly computed?: Expression;
      readonly codeVariable?: string;
    }
  | { readonly kind: "conditional"; readonly condition: Expression }
  | { readonly kind: "link"; readonly name: string }
  | { readonly kind: "compensation"; readonly activity: string | null; readonly waits: boolean }
  | { readonly kind: "cancel" }
  | { readonly kind: "terminate" };

/** Evaluates `source` before (inputs) or after (outputs) an activity and assigns the value to the variable `target`. */
export interface Mapping {
  readonly source: Expression;
  readonly target: string;
}

export interface MultiInstance {
  readonly kind: "multi";
  readonly sequential: boolean;
  readonly cardinality: Expression | null;
  readonly collection: Expression | null;
  /** The variable with the item of each instance. */
  readonly item: string | null;
  /** Collects one value per instance, in the order of the items. */
  readonly output: { readonly variable: string; readonly element: Expression } | null;
  readonly completion: Expression | null;
  /** Events thrown to boundary events when an instance completes. */
  readonly throws: readonly InstanceThrow[];
}

/**
 * `when`: each completion, the first one, or a completion for which the condition is true. A met condition also ends the
 * activity: its remaining instances are cancelled, and its token continues.
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

/** Retry policy of a handler. After the last attempt there is an incident. */
export interface RetrySetting {
  readonly maxAttempts: number;
  readonly backoff: "exponential" | "linear" | "fixed";
  readonly initialMs: number;
  readonly maxMs: number;
  readonly jitter: number;
}

/**
 * Code that is called before an element does its work or after it, such as when its human task is created. A gateway, and an event that
 * ends its token, call all of their listeners before.
 */
export interface Listener {
  readonly event: "start" | "create" | "complete" | "end";
  readonly phase: "before" | "after";
  readonly handler: string;
  readonly retry: RetrySetting | null;
}

interface Node {
  readonly id: string;
  readonly name: string | null;
  /** The process or sub-process that contains the element. */
  readonly scope: string;
  readonly incoming: readonly string[];
  /** In the order of the model. */
  readonly outgoing: readonly string[];
  readonly line: number | null;
  /** Extension values of the model, for handlers. */
  readonly properties: Readonly<Record<string, string>>;
  /** In the order in which they are called. */
  readonly listeners?: readonly Listener[];
}

interface Activity extends Node {
  readonly default: string | null;
  readonly loop: MultiInstance | StandardLoop | null;
  /** Its boundary events, without compensation events. */
  readonly boundaries: readonly string[];
  /** Its compensation handler. */
  readonly compensatedBy: string | null;
  /** Whether it is executed only as a compensation handler. */
  readonly isForCompensation: boolean;
  readonly startQuantity: number;
  readonly completionQuantity: number;
  readonly inputs: readonly Mapping[];
  readonly outputs: readonly Mapping[];
  /** Additional outputs to data objects. Null values are skipped. */
  readonly dataOutputs: readonly Mapping[];
}

/** A form in a model: a JSON schema as text, and the default values that are computed when it is shown. */
export interface ModelForm {
  readonly schema: string;
  readonly defaults: readonly Mapping[];
}

export interface EventElement extends Node {
  readonly type: "startEvent" | "intermediateCatchEvent" | "intermediateThrowEvent" | "endEvent" | "boundaryEvent";
  readonly triggers: readonly EventTrigger[];
  /** Whether all triggers must occur, not only one. */
  readonly isParallel: boolean;
  readonly isInterrupting: boolean;
  readonly attachedTo: string | null;
  readonly outputs: readonly Mapping[];
  /** The name of the handler that sends a thrown message. */
  readonly handler: string | null;
  /** The form of a start event. */
  readonly form?: ModelForm;
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

/** Which version of a process, decision or form an element uses. The latest one if there is no binding. */
export type Binding =
  | { readonly kind: "deployment" }
  | { readonly kind: "version"; readonly version: number }
  | { readonly kind: "versionTag"; readonly tag: string };

export interface TaskElement extends Activity {
  readonly type: TaskType;
  /** The name of its handler. Null if the handler for its type is used. */
  readonly handler: string | null;
  readonly script: { readonly text: string; readonly format: string | null } | null;
  readonly decision: string | null;
  /** The variable for the result of the handler. Null if each property of the result becomes a variable. */
  readonly resultVariable: string | null;
  /** The message of a send or receive task. */
  readonly message: { readonly name: string; readonly computed?: Expression; readonly key: Expression | null } | null;
  /** Whether a message to this task starts an instance of the process. */
  readonly instantiates: boolean;
  readonly retry: RetrySetting | null;
  /** The form of a user task. */
  readonly form?: ModelForm;
  /** The version of its decision, or of the form that it refers to. */
  readonly binding?: Binding;
}

export interface CallElement extends Activity {
  readonly type: "callActivity";
  readonly called: Expression;
  readonly version: number | null;
  readonly binding?: Binding;
  /** False if the token continues without waiting for the called process. */
  readonly waits: boolean;
  /** What the called process receives: all variables, or only those of the inputs. Default `all`. */
  readonly passes?: "all" | "inputs";
  /** What it returns: all its variables, only the outputs, or both. Default: the outputs, and all if there are none. */
  readonly returns?: "all" | "outputs";
}

export interface SubProcessElement extends Activity {
  readonly type: "subProcess" | "eventSubProcess" | "transaction" | "adHocSubProcess";
  readonly adHoc: {
    readonly sequential: boolean;
    readonly completion: Expression | null;
    readonly cancelsRemaining: boolean;
    /** The elements to start. Null starts all elements without incoming flows. */
    readonly active: Expression | null;
  } | null;
}

export interface GatewayElement extends Node {
  readonly type: "exclusiveGateway" | "parallelGateway" | "inclusiveGateway" | "complexGateway" | "eventBasedGateway";
  readonly default: string | null;
  readonly activation: Expression | null;
  /**
   * Whether the events after an event-based gateway start an instance. With `each`, the instance then waits for the other events
   * too.
   */
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
  readonly line: number | null;
}

/** The elements directly in a process or sub-process. */
export interface ScopeGraph {
  readonly id: string;
  readonly elements: readonly string[];
  /** The elements at which it starts without a trigger. */
  readonly starts: readonly string[];
  readonly eventSubProcesses: readonly string[];
  /** Names of its data variables, which exist from the start. */
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

/** The property with the type of a node whose type an application has added. */
export const NODE_TYPE = "nodeType";

export function isActivity(element: Element): element is ActivityElement {
  return "loop" in element;
}

export function isEvent(element: Element): element is EventElement {
  return "triggers" in element;
}

export function isSubProcess(element: Element): element is SubProcessElement {
  return "adHoc" in element;
}

/** An expression that is always evaluated. */
export function computed(text: string, language: string | null = null): Expression {
  return { text: text.startsWith("=") ? text.slice(1).trim() : text.trim(), language, isStatic: false };
}

/** An expression that is evaluated if it starts with `=` or contains `${`. Otherwise the text is the value. */
export function textOrComputed(text: string, language: string | null = null): Expression {
  const trimmed = text.trim();
  const template = trimmed.startsWith("=") ? null : juelTemplate(trimmed);
  if (template !== null) return computed(template, language);
  if (trimmed.startsWith("=") || trimmed.includes("${") || trimmed.includes("#{")) return computed(trimmed, language);
  return { text: trimmed, language, isStatic: true };
}

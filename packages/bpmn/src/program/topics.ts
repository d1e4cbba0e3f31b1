/** Topics of messages and signals between processes, and names of messages to process runs. */

/** The topic on which an instance waits for a message with a correlation key. An empty key matches any message without one. */
export function messageTopic(name: string, key: string): string {
  return `bpmn message ${fit(name)} ${fit(key)}`.trimEnd();
}

/** The topic on which definitions wait for messages that start an instance. */
export function messageStartTopic(name: string): string {
  return `bpmn start ${fit(name)}`;
}

export function signalTopic(name: string): string {
  return `bpmn signal ${fit(name)}`;
}

/** The message that completes the human task at a location. */
export function taskMessage(location: string): string {
  return `bpmn task ${location}`;
}

/** What the record of a task contains instead of that name: after a rewind, the task is open again, and its former completion is void. */
export const TASK_DONE = "task";

/** The tag of all runs with a business key. */
export function businessKeyTag(key: string): string {
  return `bpmn key ${fit(key)}`;
}

/** The tag of all runs that a user has started. */
export function startedByTag(user: string): string {
  return `bpmn by ${fit(user)}`;
}

/** The run id of the only instance of a process with a unique business key. */
export function uniqueRunId(process: string, key: string): string {
  return `bpmn ${fit(process)} key ${fit(key)}`;
}

/** The topic of events about overdue tasks. */
export const OVERDUE_TOPIC = "bpmn task overdue";

/** The value of such an event. */
export interface OverdueTask {
  readonly task: string;
  readonly runId: string;
  readonly at: number;
}

/** The message that carries an operator action. */
export const ACTION_MESSAGE = "bpmn act";
/** The message that carries an escalation of a called process. */
export const ESCALATION_MESSAGE = "bpmn escalation";

const PART_MAX = 110;

/** Escapes and shortens a name of a model for use in a topic. Different names stay different. */
function fit(name: string): string {
  const escaped = name.replace(/[\p{Cc}\p{Surrogate}%]/gu, (char) => `%${char.codePointAt(0)?.toString(16)};`);
  return escaped.length <= PART_MAX ? escaped : `${escaped.slice(0, PART_MAX - 20)}%${hash(escaped)}`;
}

/** FNV-1a, 64 bits: enough to tell long names apart. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i += 1) {
    value = BigInt.asUintN(64, (value ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n);
  }
  return value.toString(36);
}

/** The value of a message or signal. */
export interface MessageValue {
  readonly variables: Readonly<Record<string, unknown>>;
  /** The run that sent it. Null if a caller outside of runs did. */
  readonly from: string | null;
}

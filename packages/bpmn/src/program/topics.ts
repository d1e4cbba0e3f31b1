/** Topics on which messages and signals of processes travel, and messages that process runs get. */

/** Where an instance waits for a message with a correlation key; empty: for any of that name. */
export function messageTopic(name: string, key: string): string {
  return `bpmn message ${fit(name)} ${fit(key)}`.trimEnd();
}

/** Where definitions wait for messages that begin an instance. */
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

/** Runs of one business key are found by this tag. */
export function businessKeyTag(key: string): string {
  return `bpmn key ${fit(key)}`;
}

/** The id of the one instance of a process that a business key has. */
export function uniqueRunId(process: string, key: string): string {
  return `bpmn ${fit(process)} key ${fit(key)}`;
}

/** The event on which tasks are told whose time is over. */
export const OVERDUE_TOPIC = "bpmn task overdue";

/** What that event brings. */
export interface OverdueTask {
  readonly task: string;
  readonly runId: string;
  readonly at: number;
}

/** What operators ask of a process run. */
export const ACTION_MESSAGE = "bpmn act";
/** A called process has escalated. */
export const ESCALATION_MESSAGE = "bpmn escalation";

const PART_MAX = 110;

/** Names of models may hold anything; a topic's may not, and is not endless. Two that differ stay different. */
function fit(name: string): string {
  const escaped = name.replace(/[\p{Cc}\p{Surrogate}%]/gu, (char) => `%${char.codePointAt(0)?.toString(16)};`);
  return escaped.length <= PART_MAX ? escaped : `${escaped.slice(0, PART_MAX - 20)}%${hash(escaped)}`;
}

/** FNV-1a over 64 bits: far more than enough to tell long names apart. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i += 1) {
    value = BigInt.asUintN(64, (value ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n);
  }
  return value.toString(36);
}

/** What a message or signal brings. */
export interface MessageValue {
  readonly variables: Readonly<Record<string, unknown>>;
  /** The run that has sent it; null: a caller from outside. */
  readonly from: string | null;
}

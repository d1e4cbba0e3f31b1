import { messagePost, type Post, type ProgramHost, type RecordKind, topicPost } from "pawl";
import type { Command, Outgoing } from "../machine/state.ts";
import {
  ESCALATION_MESSAGE,
  type MessageValue,
  messageStartTopic,
  messageTopic,
  OVERDUE_TOPIC,
  type OverdueTask,
  signalTopic,
} from "./topics.ts";

/** How long a sent message is kept until an instance with its correlation key receives it. */
const MESSAGE_TTL = "1 day";

/**
 * Signals and start messages reach the runs that wait when they are sent. A run that is just processing another event is briefly
 * not registered as a waiter, so they are kept this long.
 */
export const SIGNAL_TTL = "10 s";

/** Sends a message, signal or escalation of the process, in the commit of the token move that caused it. */
export function send(host: ProgramHost, outgoing: Outgoing, settle: () => void): void {
  const { location } = outgoing;
  const value: MessageValue = { variables: outgoing.variables, from: host.runId };
  switch (outgoing.kind) {
    case "broadcast": {
      const topic = signalTopic(outgoing.name);
      const event = { topic, value, deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
      issuePost(host, location, "emit", topicPost(host, location, event), settle);
      return;
    }
    case "publish": {
      const topic = messageStartTopic(outgoing.name);
      const event = { topic, value, deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_TTL } as const;
      issuePost(host, location, "emit", topicPost(host, location, event), settle);
      return;
    }
    case "correlate": {
      // One instance receives it, now or later. An instance that the message itself started does not.
      const topic = messageTopic(outgoing.name, outgoing.key);
      const event = { topic, value, deliver: "afterCreate", consume: "one", expireAfter: MESSAGE_TTL } as const;
      issuePost(host, location, "emit", topicPost(host, location, event), settle);
      return;
    }
    case "escalate": {
      const { parent } = host.run;
      if (parent === null) {
        settle();
        return;
      }
      const escalation = { location: parent.location, code: outgoing.code, variables: outgoing.variables };
      const message = { to: parent.runId, name: ESCALATION_MESSAGE, value: escalation };
      issuePost(host, location, "send", messagePost(host, location, message), settle);
    }
  }
}

/** How long the event is kept for listeners. */
const OVERDUE_TTL = "7 days";

/** Emits the event that a task is overdue. */
export function emitOverdue(
  host: ProgramHost,
  { location }: Extract<Command, { kind: "overdue" }>,
  task: string,
  settle: () => void,
): void {
  const value: OverdueTask = { task, runId: host.runId, at: host.now() };
  const event = {
    topic: OVERDUE_TOPIC,
    value,
    deliver: "afterCreate",
    consume: "all",
    expireAfter: OVERDUE_TTL,
  } as const;
  issuePost(host, location, "emit", topicPost(host, location, event), settle);
}

export function issuePost(
  host: ProgramHost,
  location: string,
  record: RecordKind,
  made: Post,
  settle: () => void,
): void {
  const issuedAt = host.now();
  host.issue({
    kind: "post",
    record,
    location,
    issuedAt,
    post: made,
    value: undefined,
    detail: null,
    settle: () => settle(),
  });
}

import { messagePost, type Post, type ProgramHost, type RecordKind, topicPost } from "pawl";
import type { Command, Told } from "../machine/state.ts";
import {
  type Carried,
  ESCALATION_MESSAGE,
  messageStartTopic,
  messageTopic,
  OVERDUE_TOPIC,
  type OverdueTask,
  signalTopic,
} from "./topics.ts";

/** How long a message that a process has sent waits for the instance that is to receive it. */
const MESSAGE_KEPT = "1 day";

/**
 * Signals, and messages that begin instances, are for those who wait when they are sent. A run that something else has just come
 * for is no waiter for a moment: for that long they are kept.
 */
export const SIGNAL_KEPT = "10 s";

/** What a process tells others goes out with the commit in which it is told. */
export function tell(host: ProgramHost, told: Told, settle: () => void): void {
  const { place } = told;
  const value: Carried = { variables: told.variables, from: host.runId };
  switch (told.kind) {
    case "broadcast": {
      const topic = signalTopic(told.name);
      const event = { topic, value, deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_KEPT } as const;
      post(host, place, "emit", topicPost(host, place, event), settle);
      return;
    }
    case "publish": {
      const topic = messageStartTopic(told.name);
      const event = { topic, value, deliver: "afterCreate", consume: "all", expireAfter: SIGNAL_KEPT } as const;
      post(host, place, "emit", topicPost(host, place, event), settle);
      return;
    }
    case "correlate": {
      // Whoever waits for it, or will: an instance that the message itself has begun is none of them.
      const topic = messageTopic(told.name, told.key);
      const event = { topic, value, deliver: "afterCreate", consume: "one", expireAfter: MESSAGE_KEPT } as const;
      post(host, place, "emit", topicPost(host, place, event), settle);
      return;
    }
    case "escalate": {
      const { parent } = host.run;
      if (parent === null) {
        settle();
        return;
      }
      const escalation = { location: parent.location, code: told.code, variables: told.variables };
      const message = { to: parent.runId, name: ESCALATION_MESSAGE, value: escalation };
      post(host, place, "send", messagePost(host, place, message), settle);
    }
  }
}

/** How long it is kept for those who look for overdue tasks. */
const OVERDUE_KEPT = "7 days";

/** That a task is overdue is an event, for all who wait for it. */
export function tellOverdue(
  host: ProgramHost,
  { place }: Extract<Command, { kind: "overdue" }>,
  task: string,
  settle: () => void,
): void {
  const value: OverdueTask = { task, runId: host.runId, at: host.now() };
  const event = {
    topic: OVERDUE_TOPIC,
    value,
    deliver: "afterCreate",
    consume: "all",
    expireAfter: OVERDUE_KEPT,
  } as const;
  post(host, place, "emit", topicPost(host, place, event), settle);
}

export function post(host: ProgramHost, location: string, record: RecordKind, made: Post, settle: () => void): void {
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

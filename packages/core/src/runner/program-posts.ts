import { type Duration, parseDuration } from "../model/duration.ts";
import { LEFTOVER_POLICY } from "../model/inbox.ts";
import { childRunId } from "../model/names.ts";
import { kinds, openTable, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { ParentClosePolicy } from "../model/run.ts";
import { limitsOfStart } from "../model/start-limits.ts";
import type { ConsumePolicy, DeliverPolicy, EventPost, MessagePost, Post } from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import { EVENT_KINDS } from "../workflow/messages.ts";
import type { ProgramHost } from "../workflow/program.ts";

const EVENT_PENDING_MAX = 10_000;

const HOST = kinds.withMethods("the host of a program", "now", "encode");
const LOCATION = kinds.storedText(100_000);
const CHILD = optionTable<Parameters<typeof childPost>[2]>("the child", {
  workflow: kinds.required(
    kinds.options(
      openTable<WorkflowRef>("the workflow", {
        name: kinds.required(kinds.name),
        version: kinds.required(kinds.integer(1)),
      }),
    ),
  ),
  input: kinds.value,
  tags: kinds.tags,
  onParentClose: kinds.oneOf("cancel", "abandon"),
});
const MESSAGE = optionTable<Parameters<typeof messagePost>[2]>("the message", {
  to: kinds.required(kinds.runId),
  name: kinds.required(kinds.name),
  value: kinds.value,
});
const EVENT = optionTable<Parameters<typeof topicPost>[2]>("the event", {
  topic: kinds.required(kinds.name),
  value: kinds.value,
  deliver: kinds.required(EVENT_KINDS.deliver),
  consume: kinds.required(EVENT_KINDS.consume),
  expireAfter: kinds.required(kinds.duration),
});

/** The id of a post follows from its run and location, so a post repeated after a crash is the same post. */
type Poster = Pick<ProgramHost, "run" | "edition" | "now" | "encode">;

/** Returns the start of a child. Its end reaches a wait with an arm `child` for the same location and `post.run.id`. */
export function childPost(
  host: Poster,
  location: string,
  child: {
    readonly workflow: WorkflowRef;
    readonly input: unknown;
    readonly tags?: readonly string[];
    readonly onParentClose?: ParentClosePolicy;
  },
): Extract<Post, { kind: "start" }> {
  readArgument(HOST, host, "host");
  const { workflow, input, tags = [], onParentClose = "cancel" } = readOptions(CHILD, child);
  readArgument(LOCATION, location, "location");
  const id = childRunId(generationId(host), location);
  const at = host.now();
  return {
    kind: "start",
    run: {
      id,
      workflow: workflow.name,
      version: workflow.version,
      input: host.encode(input, `input of child ${location}`),
      tags,
      parent: { runId: host.run.id, location, onClose: onParentClose },
      createdAt: at,
      startId: id,
      owner: null,
      ...limitsOfStart({}, { at, startAt: at }, host.run),
    },
  };
}

export function messagePost(
  host: Poster,
  location: string,
  message: { readonly to: string; readonly name: string; readonly value: unknown },
): MessagePost {
  readArgument(HOST, host, "host");
  const { to, name, value } = readOptions(MESSAGE, message);
  return {
    kind: "message",
    to,
    id: postId(host, readArgument(LOCATION, location, "location")),
    name,
    value: host.encode(value, `message ${name}`),
    at: host.now(),
    onTargetTerminated: LEFTOVER_POLICY,
    from: host.run.id,
  };
}

export function topicPost(
  host: Poster,
  location: string,
  event: {
    readonly topic: string;
    readonly value: unknown;
    readonly deliver: DeliverPolicy;
    readonly consume: ConsumePolicy;
    readonly expireAfter: Duration;
  },
): EventPost {
  readArgument(HOST, host, "host");
  const { topic, value, deliver, consume, expireAfter } = readOptions(EVENT, event);
  return {
    kind: "event",
    topic,
    id: postId(host, readArgument(LOCATION, location, "location")),
    value: host.encode(value, `event ${topic}`),
    at: host.now(),
    expireAt: host.now() + parseDuration(expireAfter, "expireAfter"),
    deliver,
    consume,
    pendingMax: EVENT_PENDING_MAX,
  };
}

/** Children of another generation or edition have other ids, even at the same location. */
export function generationId({ run, edition }: Pick<ProgramHost, "run" | "edition">): string {
  if (edition > 0) return `${run.id}//~${run.generation}.${edition}`;
  return run.generation === 0 ? run.id : `${run.id}//~${run.generation}`;
}

/** Unique across generations and editions. The same command after a crash gets the same id. */
export function postId({ run, edition }: Pick<ProgramHost, "run" | "edition">, location: string): string {
  return `${run.id}/${run.generation}${edition === 0 ? "" : `.${edition}`}/${location}`;
}

import { type Duration, parseDuration } from "../model/duration.ts";
import { checkName, checkTarget, childRunId } from "../model/names.ts";
import type { ParentClosePolicy } from "../model/run.ts";
import type { ConsumePolicy, DeliverPolicy, EventPost, MessagePost, Post } from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { ProgramHost } from "../workflow/program.ts";

const EVENT_PENDING_MAX = 10_000;

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
  const { workflow, input, tags = [], onParentClose = "cancel" } = child;
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
      startAt: at,
    },
  };
}

export function messagePost(
  host: Poster,
  location: string,
  message: { readonly to: string; readonly name: string; readonly value: unknown },
): MessagePost {
  const name = checkName(message.name, "message name");
  return {
    kind: "message",
    to: checkTarget(message.to),
    id: postId(host, location),
    name,
    value: host.encode(message.value, `message ${name}`),
    at: host.now(),
    onTargetTerminated: "discard",
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
  const topic = checkName(event.topic, "topic");
  return {
    kind: "event",
    topic,
    id: postId(host, location),
    value: host.encode(event.value, `event ${topic}`),
    at: host.now(),
    expireAt: host.now() + parseDuration(event.expireAfter, "expireAfter"),
    deliver: event.deliver,
    consume: event.consume,
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

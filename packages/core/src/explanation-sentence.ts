import type { Explanation, WaitingFor } from "./explanation.ts";
import { durationText } from "./model/duration.ts";

/** How many waits a sentence names before it counts the rest. */
const NAMED_MAX = 3;

/** What a run's explanation says to people. */
export function sentenceOf(told: Omit<Explanation, "sentence">): string {
  return `run ${told.runId} of ${told.workflow} v${told.version} ${predicate(told)}`;
}

function predicate(told: Omit<Explanation, "sentence">): string {
  const { why, status, at, owner } = told;
  switch (why.kind) {
    case "ended":
    case "poisoned":
      return `${status === "cancelled" ? "was cancelled" : status}${since(told)}${reason(why.error)}`;
    case "diverged":
    case "paused":
      return `is paused${reason(why.error)}`;
    case "delayed":
      return `is pending: it begins in ${durationText(why.until - at)}`;
    case "noWorker":
      return `is ${status} and due${since(told)}, but ${nobodyKnows(told, why.versions)}`;
    case "waitsForRoom":
      return `is ${status} and due${since(told)}: it waits for a worker with room${suspicion(why.claims)}`;
    case "ownerGone":
      return `is ${status}, but its worker ${why.owner} is silent: another takes it over when the lease is over`;
    case "working":
      return `is ${status}: worker ${owner?.id} works on it${lastly(told)}`;
    case "ready":
      return `is ${status}: something has come for it, and worker ${owner?.id} goes on with it`;
    case "backingOff": {
      const tries = why.attempts === null ? "" : ` ${why.attempts} ${why.attempts === 1 ? "time" : "times"}`;
      const next = why.until === null ? "" : `; the next try is in ${durationText(Math.max(0, why.until - at))}`;
      return `is ${status}: ${why.location} failed${tries}${bracketed(why.error)}${next}`;
    }
    case "waiting":
      return `is ${status}${since(told, "for")}: it waits for ${waitsText(told)}`;
  }
}

function since({ since: from, at }: Omit<Explanation, "sentence">, form: "ago" | "for" = "ago"): string {
  if (from === null) return "";
  const text = durationText(Math.max(0, at - from));
  return form === "for" ? ` for ${text}` : ` ${text} ago`;
}

function reason(error: Error | null): string {
  return error === null ? "" : `: ${error.message}`;
}

function bracketed(error: Error | null): string {
  return error === null ? "" : ` (${error.message})`;
}

function nobodyKnows(told: Omit<Explanation, "sentence">, versions: readonly number[]): string {
  if (told.workers.live === 0) return "no worker is alive";
  const what = `no live worker knows ${told.workflow} v${told.version}`;
  return versions.length === 0 ? what : `${what}, only ${versions.map((version) => `v${version}`).join(", ")}`;
}

function suspicion(claims: number): string {
  return claims < 2 ? "" : `; it was claimed ${claims} times without progress, so it is worked on beside no other such`;
}

function lastly({ lastRecord, at }: Omit<Explanation, "sentence">): string {
  if (lastRecord === null) return "; it has no record yet";
  return `; its last record is ${lastRecord.kind} at ${lastRecord.location}, ${durationText(Math.max(0, at - lastRecord.at))} ago`;
}

function waitsText(told: Omit<Explanation, "sentence">): string {
  const named = told.waits.slice(0, NAMED_MAX).map((wait) => waitText(wait, told.at));
  const rest = told.waitsCount - named.length;
  if (named.length === 0) return "something";
  return rest === 0 ? named.join(" and ") : `${named.join(", ")} and ${rest} more`;
}

function waitText({ location, kind, until, messages, topics, children }: WaitingFor, at: number): string {
  const left = until === null ? null : durationText(Math.max(0, until - at));
  const things = [
    ...messages.map((name) => `message ${name}`),
    ...topics.map((name) => `an event on ${name}`),
    ...children.map(
      ({ runId, location: place, status }) => `child ${runId ?? place}${status === null ? "" : ` (${status})`}`,
    ),
  ];
  if (things.length > 0) return `${things.join(" or ")} at ${location}${left === null ? "" : `, at most ${left} more`}`;
  const what = kind === "retry" ? "the next try of" : "the end of";
  return `${what} ${location}${left === null ? "" : ` in ${left}`}`;
}

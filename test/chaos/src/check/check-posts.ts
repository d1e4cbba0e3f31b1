import { type Inputs, postId, TOPICS } from "../load/inputs.ts";
import { type Evidence, type Finding, linesOf, type RunDump } from "./evidence.ts";
import { receivedBy } from "./run-evidence.ts";

/** A message or event that was sent. */
interface Sent {
  readonly kind: "message" | "event";
  /** True if it was acknowledged, so it must not be lost. */
  acked: boolean;
  /** True for an event that every waiter receives. */
  readonly toAll: boolean;
}

/** Every message and event is received once or is a dead letter. Those of one sender and name are received in order. */
export function checkPosts(evidence: Evidence): readonly Finding[] {
  const sent = sentPosts(evidence);
  return [...checkAnswers(evidence), ...checkFates(evidence, sent), ...evidence.runs.flatMap(checkFifo)];
}

function sentPosts(evidence: Evidence): ReadonlyMap<string, Sent> {
  const all = new Map<string, Sent>();
  for (const { action } of linesOf(evidence, "sent")) {
    if (action.kind !== "send" && action.kind !== "emit") continue;
    if (all.has(action.id)) continue;
    const kind = action.kind === "send" ? "message" : "event";
    all.set(action.id, { kind, acked: false, toAll: action.kind === "emit" && action.consume === "all" });
  }
  for (const { action } of linesOf(evidence, "acked")) {
    if (action.kind !== "send" && action.kind !== "emit") continue;
    const one = all.get(action.id);
    if (one !== undefined) one.acked = true;
  }
  for (const run of evidence.runs) for (const [id, one] of sentByRun(run)) all.set(id, one);
  return all;
}

/** The messages and events of a run follow from its input. A completed run has sent all of them. */
function sentByRun(run: RunDump): ReadonlyArray<readonly [string, Sent]> {
  if (run.workflow === "transfer" || run.workflow === "pay") {
    const name = run.workflow === "transfer" ? "receipt" : "paid";
    const acked = run.records.some(({ kind }) => kind === "send");
    return [[postId((run.input as Inputs["transfer"]).salt, name, 0), { kind: "message", acked, toAll: false }]];
  }
  if (run.workflow !== "ping" && run.workflow !== "pong") return [];
  const { workflow } = run;
  const input = run.input as Inputs["ping"];
  const acked = run.status === "completed";
  const messages = Array.from({ length: input.count }, (_, k): readonly [string, Sent] => [
    postId(input.salt, workflow, k),
    { kind: "message", acked, toAll: false },
  ]);
  if (workflow === "pong") return messages;
  return [...messages, [postId(input.salt, input.topic, 0), { kind: "event", acked, toAll: false }]];
}

const GOOD_ANSWERS: ReadonlySet<string> = new Set(["delivered", "queued", "duplicate", "targetTerminated"]);

/** Targets are started before messages are sent to them, and events are kept, so other answers are wrong. */
function checkAnswers(evidence: Evidence): readonly Finding[] {
  return linesOf(evidence, "acked").flatMap(({ action, answer }): readonly Finding[] => {
    if ((action.kind !== "send" && action.kind !== "emit") || GOOD_ANSWERS.has(answer)) return [];
    return [{ kind: "wrong", text: `${action.kind} of ${action.id} was answered with ${answer}` }];
  });
}

function checkFates(evidence: Evidence, sent: ReadonlyMap<string, Sent>): readonly Finding[] {
  const findings: Finding[] = [];
  const fates = new Map<string, string[]>();
  const add = (id: string, fate: string): void => {
    const known = fates.get(id);
    if (known === undefined) fates.set(id, [fate]);
    else known.push(fate);
    if (!sent.has(id)) findings.push({ kind: "wrong", text: `${id} was received by ${fate}, but was not sent` });
  };
  for (const run of evidence.runs) for (const id of receivedBy(run)) add(id, run.id);
  for (const { id, target } of evidence.letters) add(id, `the dead letters of ${target}`);
  for (const [id, { kind, acked, toAll }] of sent) {
    const fate = fates.get(id) ?? [];
    if (fate.length === 0 && acked && !toAll) {
      findings.push({ kind: "lost", text: `${kind} ${id} was acknowledged, but was not received` });
    }
    const most = toAll ? new Set(fate).size : 1;
    if (fate.length > most)
      findings.push({ kind: "twice", text: `${kind} ${id} was received by ${fate.join(" and by ")}` });
  }
  return findings;
}

/** An id ends with its number among those of its sender and name. Events of a topic with competing waiters have no order. */
function checkFifo(run: RunDump): readonly Finding[] {
  const last = new Map<string, number>();
  const findings: Finding[] = [];
  for (const id of receivedBy(run)) {
    const end = id.lastIndexOf(".");
    const series = id.slice(0, end);
    if (TOPICS.some((topic) => series.endsWith(`.${topic}`))) continue;
    const k = Number(id.slice(end + 1));
    const before = last.get(series) ?? -1;
    if (k <= before) findings.push({ kind: "wrong", text: `run ${run.id} received ${id} after ${series}.${before}` });
    last.set(series, Math.max(k, before));
  }
  return findings;
}

import { type Inputs, parcelId, TOPICS } from "../load/inputs.ts";
import { type Evidence, type Finding, linesOf, type RunDump } from "./evidence.ts";
import { receivedBy } from "./telling.ts";

/** What became of a message or event that was sent. */
interface Sent {
  readonly what: "message" | "event";
  /** Answered: it may not be lost from there on. */
  acked: boolean;
  /** An event that every waiter gets. */
  readonly toAll: boolean;
}

/** Every message and every event is received once, or is a dead letter; and those of one sender and name in their order. */
export function checkParcels(evidence: Evidence): readonly Finding[] {
  const sent = sentParcels(evidence);
  return [...checkAnswers(evidence), ...checkFates(evidence, sent), ...evidence.runs.flatMap(checkFifo)];
}

function sentParcels(evidence: Evidence): ReadonlyMap<string, Sent> {
  const all = new Map<string, Sent>();
  for (const { action } of linesOf(evidence, "sent")) {
    if (action.kind !== "send" && action.kind !== "emit") continue;
    if (all.has(action.id)) continue;
    const what = action.kind === "send" ? "message" : "event";
    all.set(action.id, { what, acked: false, toAll: action.kind === "emit" && action.consume === "all" });
  }
  for (const { action } of linesOf(evidence, "acked")) {
    if (action.kind !== "send" && action.kind !== "emit") continue;
    const one = all.get(action.id);
    if (one !== undefined) one.acked = true;
  }
  for (const run of evidence.runs) for (const [id, one] of sentByRun(run)) all.set(id, one);
  return all;
}

/** What a run sends follows from its input; all of it is sent when the run has completed. */
function sentByRun(run: RunDump): ReadonlyArray<readonly [string, Sent]> {
  if (run.workflow !== "ping" && run.workflow !== "pong") return [];
  const { workflow } = run;
  const input = run.input as Inputs["ping"];
  const acked = run.status === "completed";
  const messages = Array.from({ length: input.count }, (_, k): readonly [string, Sent] => [
    parcelId(input.salt, workflow, k),
    { what: "message", acked, toAll: false },
  ]);
  if (workflow === "pong") return messages;
  return [...messages, [parcelId(input.salt, input.topic, 0), { what: "event", acked, toAll: false }]];
}

const GOOD_ANSWERS: ReadonlySet<string> = new Set(["delivered", "queued", "duplicate", "targetTerminated"]);

/** Targets are started before they are written to, and events are kept: other answers are wrong. */
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
    if (!sent.has(id)) findings.push({ kind: "wrong", text: `${id} is with ${fate}, and nobody sent it` });
  };
  for (const run of evidence.runs) for (const id of receivedBy(run)) add(id, run.id);
  for (const { id, target } of evidence.letters) add(id, `the dead letters of ${target}`);
  for (const [id, { what, acked, toAll }] of sent) {
    const fate = fates.get(id) ?? [];
    if (fate.length === 0 && acked && !toAll) {
      findings.push({ kind: "lost", text: `${what} ${id} was acknowledged, and nobody has it` });
    }
    const most = toAll ? new Set(fate).size : 1;
    if (fate.length > most) findings.push({ kind: "twice", text: `${what} ${id} is with ${fate.join(" and with ")}` });
  }
  return findings;
}

/** An id ends in its place among those of its sender and name. Events of a topic that runs compete for have no order here. */
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

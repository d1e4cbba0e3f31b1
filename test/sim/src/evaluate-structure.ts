import { type EvaluateList, type Evaluation, latestSeq, OPEN, type Records } from "./evaluation.ts";
import {
  type BranchesNode,
  branchName,
  type CtxLoopNode,
  locationOf,
  type Place,
  type ProgramNode,
  within,
} from "./program.ts";

/** A node of the model with its records and its place. */
export interface Modelled {
  readonly records: Records;
  readonly at: Place;
  readonly from: number;
  readonly list: EvaluateList;
}

export function evaluateCtxBranches(node: BranchesNode, model: Modelled): Evaluation {
  const location = locationOf(node.name, model.at);
  const begun = model.records.get(location);
  if (begun === undefined) return OPEN;
  const ends = node.branches.map((branch, place) => ({
    name: branchName(place),
    end: model.list(model.records, branch, within(location, branchName(place)), begun.seq),
  }));
  const name = node.name + model.at.suffix;
  return node.kind === "ctxJoin" ? joined(name, ends, begun.seq) : raced(name, ends, begun.seq);
}

type Ends = ReadonlyArray<{ readonly name: string; readonly end: Evaluation }>;

function joined(name: string, ends: Ends, from: number): Evaluation {
  if (ends.some(({ end }) => end.kind === "open")) return OPEN;
  const seq = latestSeq(
    ends.map(({ end }) => end),
    from,
  );
  const message = reasons(ends);
  if (message !== "") return { kind: "error", source: "join", message: `join ${name} failed: ${message}`, seq };
  return { kind: "value", value: ends.map(({ end }) => (end.kind === "value" ? end.value : null)), seq };
}

/** The first success wins. A race fails only if all branches have failed. */
function raced(name: string, ends: Ends, from: number): Evaluation {
  let best: { readonly winner: string; readonly value: unknown; readonly seq: number } | null = null;
  for (const { name: winner, end } of ends) {
    if (end.kind === "value" && (best === null || end.seq < best.seq)) best = { ...end, winner };
  }
  if (best !== null) return { kind: "value", value: { winner: best.winner, value: best.value }, seq: best.seq };
  if (ends.some(({ end }) => end.kind === "open")) return OPEN;
  const inOrder = [...ends].sort((a, b) => latestSeq([a.end], 0) - latestSeq([b.end], 0));
  const message = `race ${name} failed in every branch: ${reasons(inOrder)}`;
  return {
    kind: "error",
    source: "race",
    message,
    seq: latestSeq(
      ends.map(({ end }) => end),
      from,
    ),
  };
}

function reasons(ends: Ends): string {
  return ends.flatMap(({ name, end }) => (end.kind === "error" ? [`${name}: ${end.message}`] : [])).join("; ");
}

/** Iterations run one after the other. The end of the last one is a record of the loop. */
export function evaluateCtxLoop(node: CtxLoopNode, { records, at, from, list }: Modelled): Evaluation {
  const location = locationOf(node.name, at);
  const values: unknown[] = [];
  let seq = from;
  for (let iteration = 0; iteration < node.times; iteration += 1) {
    const end = list(records, node.body, within(location, `~${iteration}`), seq);
    if (end.kind !== "value") return end;
    values.push(end.value);
    seq = end.seq;
    const isRecorded = iteration + 1 < node.times && (iteration + 1) % node.commitInterval === 0;
    const note = isRecorded ? records.get(`${location}/~${iteration + 1}`) : null;
    if (note === undefined) return OPEN;
    seq = note?.seq ?? seq;
  }
  const over = records.get(location);
  return over === undefined ? OPEN : { kind: "value", value: values, seq: over.seq };
}

export function evaluateCtxTry(
  node: Extract<ProgramNode, { kind: "ctxTry" }>,
  { records, at, from, list }: Modelled,
): Evaluation {
  const body = list(records, node.body, { path: `${locationOf(node.name, at)}/`, suffix: "" }, from);
  if (body.kind !== "error" || body.source === "rollback") return body;
  const value = { source: body.source, failure: body.message, scope: node.name + at.suffix };
  return { kind: "value", value, seq: body.seq };
}

/** The recorded version decides. A run without the record took the branch of the code before the change. */
export function evaluateVersion(
  node: Extract<ProgramNode, { kind: "version" }>,
  { records, at, from, list }: Modelled,
): Evaluation {
  const note = records.get(locationOf(node.name, at));
  return note === undefined ? list(records, node.before, at, from) : list(records, node.after, at, note.seq);
}

import type { JournalRecord } from "pawl";
import {
  evaluateCtxBranches,
  evaluateCtxLoop,
  evaluateCtxTry,
  evaluateVersion,
  type Modelled,
} from "./evaluate-structure.ts";
import { type Evaluation, earliest, latestSeq, OPEN, type Records, type Source } from "./evaluation.ts";
import {
  GIVEN_UP,
  locationOf,
  type Place,
  type Program,
  type ProgramNode,
  ROOT,
  type SelectNode,
  type StepNode,
} from "./program.ts";

/**
 * The model: computes the result of a program from its records by location, without an engine. Order comes from seqs alone: the branch
 * with the older deciding record wins a race.
 */
export function evaluateProgram(
  { nodes, data }: Pick<Program, "nodes" | "data">,
  journal: readonly JournalRecord[],
): Evaluation {
  const records = new Map(
    journal.filter(({ kind }) => kind !== "retry" && kind !== "started").map((record) => [record.location, record]),
  );
  if (!data) return evaluateList(records, nodes, ROOT, 0);
  // The nodes of a data program run in parallel, so the oldest failure ends it.
  const all = evaluateBranches({ kind: "all", branches: nodes.map((node) => [node]) }, { records, at: ROOT, from: 0 });
  return all.kind === "value" ? { ...all, value: (all.value as readonly unknown[][]).flat(1) } : all;
}

function evaluateList(records: Records, nodes: readonly ProgramNode[], at: Place, from: number): Evaluation {
  const values: unknown[] = [];
  let seq = from;
  for (const node of nodes) {
    const result = evaluateNode(node, { records, at, from: seq, list: evaluateList });
    if (result.kind !== "value") return result;
    values.push(result.value);
    seq = result.seq;
  }
  return { kind: "value", value: values, seq };
}

function evaluateNode(node: ProgramNode, model: Modelled): Evaluation {
  const { records, at, from } = model;
  switch (node.kind) {
    case "step":
      return evaluateStep(records.get(locationOf(node.name, at)), node);
    case "transaction":
      return completed(records.get(locationOf(node.name, at)), "step", (payload) => payload);
    case "sleep":
    case "listen":
    case "event":
    case "listenN":
      return evaluateWait(records.get(locationOf(node.name, at)), node.kind);
    case "select":
      return evaluateSelect(records, node, locationOf(node.name, at));
    case "child":
      return evaluateChild(records, node, locationOf(node.name, at));
    case "all":
    case "race":
    case "settled":
      return evaluateBranches(node, model);
    case "loop":
      return evaluateLoop(node, model);
    case "attempt":
      return evaluateAttempt(node, model);
    case "ctxJoin":
    case "ctxRace":
      return evaluateCtxBranches(node, model);
    case "ctxLoop":
      return evaluateCtxLoop(node, model);
    case "ctxTry":
      return evaluateCtxTry(node, model);
    case "version":
      return evaluateVersion(node, model);
    case "checkpoint": {
      const record = records.get(locationOf(node.name, at));
      return record === undefined ? OPEN : { kind: "value", value: null, seq: record.seq };
    }
    case "giveUp":
      return { kind: "error", message: GIVEN_UP, source: "rollback", seq: from };
    case "removed":
    case "resource":
    case "send":
    case "emit":
    case "pure":
      return { kind: "value", value: null, seq: from };
  }
}

function completed(record: JournalRecord | undefined, source: Source, read: (payload: unknown) => unknown): Evaluation {
  if (record === undefined) return OPEN;
  const payload: unknown = record.payload === null ? null : JSON.parse(record.payload);
  if (record.outcome === "failed")
    return { kind: "error", message: (payload as { message: string }).message, source, seq: record.seq };
  return { kind: "value", value: read(payload), seq: record.seq };
}

function evaluateStep(record: JournalRecord | undefined, node: StepNode): Evaluation {
  if (record?.outcome === "failed" && node.asResult)
    return { kind: "value", value: { failed: record.detail }, seq: record.seq };
  return completed(record, "step", (payload) => payload);
}

function evaluateWait(record: JournalRecord | undefined, kind: "sleep" | "listen" | "listenN" | "event"): Evaluation {
  return completed(record, "step", (payload) => {
    if (kind === "sleep") return null;
    if (kind === "listenN") return ((payload ?? []) as Array<{ value: unknown }>).map((each) => each.value);
    return (payload as { value: unknown } | null)?.value ?? "timeout";
  });
}

function evaluateSelect(records: Records, node: SelectNode, location: string): Evaluation {
  if (node.program !== null && !records.has(`${location}.c`)) return OPEN;
  const record = records.get(location);
  return completed(record, "child", (payload) => {
    const key = record?.detail ?? "";
    const value = key === "m" || key === "t" ? (payload as { value: unknown }).value : payload;
    return { key, value: value ?? null };
  });
}

function evaluateChild(records: Records, node: Extract<ProgramNode, { kind: "child" }>, location: string): Evaluation {
  const spawn = records.get(location);
  if (spawn === undefined) return OPEN;
  if (node.mode === "detached")
    return completed(spawn, "child", (payload) => (payload as { readonly runId: string }).runId);
  const result = completed(records.get(`${location}/result`), "child", (payload) => payload);
  return result.kind === "error" && node.mode === "quiet"
    ? { kind: "value", value: "child failed", seq: result.seq }
    : result;
}

function evaluateBranches(
  { kind, branches }: Extract<ProgramNode, { kind: "all" | "race" | "settled" }>,
  { records, at, from }: Pick<Modelled, "records" | "at" | "from">,
): Evaluation {
  const results = branches.map((branch) => evaluateList(records, branch, at, from));
  if (kind === "race") return earliest(results);
  const errors = results.filter((result) => result.kind === "error");
  if (kind === "all" && errors.length > 0) return earliest(errors);
  if (results.some((result) => result.kind === "open")) return OPEN;
  const value = results.map((result) =>
    result.kind === "value" ? result.value : result.kind === "error" ? result.message : null,
  );
  return { kind: "value", value, seq: latestSeq(results, from) };
}

function evaluateLoop(node: Extract<ProgramNode, { kind: "loop" }>, { records, at, from }: Modelled): Evaluation {
  const values: unknown[] = [];
  let seq = from;
  for (let index = 0; index < node.times; index += 1) {
    const result = evaluateList(records, node.body, { path: at.path, suffix: `${at.suffix}.${index}` }, seq);
    if (result.kind !== "value") return result;
    values.push(result.value);
    seq = result.seq;
  }
  return { kind: "value", value: values, seq };
}

function evaluateAttempt(node: Extract<ProgramNode, { kind: "attempt" }>, { records, at, from }: Modelled): Evaluation {
  const body = evaluateList(records, node.body, at, from);
  if (body.kind !== "error") return body;
  const rescue = evaluateList(records, node.rescue, at, body.seq);
  return rescue.kind === "value" ? { ...rescue, value: { caught: body.message, rescued: rescue.value } } : rescue;
}

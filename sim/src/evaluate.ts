import type { JournalRecord } from "pawl";
import type { Program, ProgramNode, SelectNode, StepNode } from "./program.ts";

/**
 * The model: what a program comes to, given its records by location, without any engine. Order is read from seqs alone: of
 * branches that race, the one whose deciding record is older wins.
 */
export type Evaluation =
  | { readonly kind: "value"; readonly value: unknown; readonly seq: number }
  | { readonly kind: "error"; readonly message: string; readonly seq: number }
  /** Something it waits for has no record. */
  | { readonly kind: "open" };

type Records = ReadonlyMap<string, JournalRecord>;
const OPEN: Evaluation = { kind: "open" };

export function evaluateProgram(
  { nodes, data }: Pick<Program, "nodes" | "data">,
  journal: readonly JournalRecord[],
): Evaluation {
  const records = new Map(
    journal.filter((record) => record.kind !== "retry").map((record) => [record.location, record]),
  );
  if (!data) return evaluateList(records, nodes, "", 0);
  // Its nodes are branches of their own: the oldest failure is its end.
  const all = evaluateBranches(records, { kind: "all", branches: nodes.map((node) => [node]) }, "", 0);
  return all.kind === "value" ? { ...all, value: (all.value as readonly unknown[][]).flat(1) } : all;
}

function evaluateList(records: Records, nodes: readonly ProgramNode[], round: string, from: number): Evaluation {
  const values: unknown[] = [];
  let seq = from;
  for (const node of nodes) {
    const result = evaluateNode(records, node, round, seq);
    if (result.kind !== "value") return result;
    values.push(result.value);
    seq = result.seq;
  }
  return { kind: "value", value: values, seq };
}

function evaluateNode(records: Records, node: ProgramNode, round: string, from: number): Evaluation {
  switch (node.kind) {
    case "step":
      return evaluateStep(records.get(node.name + round), node);
    case "sleep":
      return completed(records.get(node.name + round), () => null);
    case "listen":
    case "event":
      return completed(
        records.get(node.name + round),
        (payload) => (payload as { value: unknown } | null)?.value ?? "timeout",
      );
    case "listenN":
      return completed(records.get(node.name + round), (payload) =>
        ((payload ?? []) as Array<{ value: unknown }>).map((each) => each.value),
      );
    case "select":
      return evaluateSelect(records, node, node.name + round);
    case "child":
      return evaluateChild(records, node, node.name + round);
    case "all":
    case "race":
    case "settled":
      return evaluateBranches(records, node, round, from);
    case "loop":
      return evaluateLoop(records, node, round, from);
    case "attempt":
      return evaluateAttempt(records, node, round, from);
    case "send":
    case "emit":
    case "pure":
      return { kind: "value", value: null, seq: from };
  }
}

function completed(record: JournalRecord | undefined, read: (payload: unknown) => unknown): Evaluation {
  if (record === undefined) return OPEN;
  const payload: unknown = record.payload === null ? null : JSON.parse(record.payload);
  if (record.outcome === "failed")
    return { kind: "error", message: (payload as { message: string }).message, seq: record.seq };
  return { kind: "value", value: read(payload), seq: record.seq };
}

function evaluateStep(record: JournalRecord | undefined, node: StepNode): Evaluation {
  if (record?.outcome === "failed" && node.asResult)
    return { kind: "value", value: { failed: record.detail }, seq: record.seq };
  return completed(record, (payload) => payload);
}

function evaluateSelect(records: Records, node: SelectNode, name: string): Evaluation {
  if (node.program !== null && !records.has(`${name}.c`)) return OPEN;
  const record = records.get(name);
  return completed(record, (payload) => {
    const key = record?.detail ?? "";
    const value = key === "m" || key === "t" ? (payload as { value: unknown }).value : payload;
    return { key, value: value ?? null };
  });
}

function evaluateChild(records: Records, node: Extract<ProgramNode, { kind: "child" }>, name: string): Evaluation {
  const spawn = records.get(name);
  if (spawn === undefined) return OPEN;
  if (node.mode === "detached") return completed(spawn, (payload) => payload);
  const result = completed(records.get(`${name}/result`), (payload) => payload);
  return result.kind === "error" && node.mode === "quiet"
    ? { kind: "value", value: "child failed", seq: result.seq }
    : result;
}

function evaluateBranches(
  records: Records,
  node: Extract<ProgramNode, { kind: "all" | "race" | "settled" }>,
  round: string,
  from: number,
): Evaluation {
  const results = node.branches.map((branch) => evaluateList(records, branch, round, from));
  const closed = results.filter((result) => result.kind !== "open");
  const earliest = (among: typeof closed): Evaluation =>
    among.reduce<Evaluation>((best, next) => (best.kind === "open" || next.seq < best.seq ? next : best), OPEN);
  if (node.kind === "race") return earliest(closed);
  const errors = closed.filter((result) => result.kind === "error");
  if (node.kind === "all" && errors.length > 0) return earliest(errors);
  if (closed.length < results.length) return OPEN;
  const value = closed.map((result) => (result.kind === "value" ? result.value : result.message));
  return { kind: "value", value, seq: Math.max(from, ...closed.map((result) => result.seq)) };
}

function evaluateLoop(
  records: Records,
  node: Extract<ProgramNode, { kind: "loop" }>,
  round: string,
  from: number,
): Evaluation {
  const values: unknown[] = [];
  let seq = from;
  for (let index = 0; index < node.times; index += 1) {
    const result = evaluateList(records, node.body, `${round}.${index}`, seq);
    if (result.kind !== "value") return result;
    values.push(result.value);
    seq = result.seq;
  }
  return { kind: "value", value: values, seq };
}

function evaluateAttempt(
  records: Records,
  node: Extract<ProgramNode, { kind: "attempt" }>,
  round: string,
  from: number,
): Evaluation {
  const body = evaluateList(records, node.body, round, from);
  if (body.kind !== "error") return body;
  const rescue = evaluateList(records, node.rescue, round, body.seq);
  return rescue.kind === "value" ? { ...rescue, value: { caught: body.message, rescued: rescue.value } } : rescue;
}

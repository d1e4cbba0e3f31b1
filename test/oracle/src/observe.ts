import type { Role, State } from "@pawl/bpmn";
import { all, type Node, type OracleState, waitsOf } from "./oracle-state.ts";

/** A possible next event, with the same name in the oracle and in the machine. */
export interface Open {
  readonly name: string;
  readonly kind: "work" | "user" | "call" | "message" | "timer" | "signal" | "incident" | "condition";
  /** The due time of a timer. */
  readonly dueAt: number | null;
}

export interface OpenNode extends Open {
  readonly node: Node;
  readonly wait: ReturnType<typeof waitsOf>[number] | null;
}

export interface OpenRow extends Open {
  readonly row: number;
  readonly location: string;
}

/** Names for the members of a tree, which come oldest first: the path of their elements, with a number if it is not unique. */
function namesOf<Id>(
  members: ReadonlyArray<{ readonly id: Id; readonly parent: Id | null; readonly segment: string | null }>,
): ReadonlyMap<Id, string> {
  const names = new Map<Id, string>();
  const counts = new Map<string, number>();
  for (const { id, parent, segment } of members) {
    const above = parent === null ? "" : (names.get(parent) ?? "");
    if (segment === null) {
      names.set(id, above);
      continue;
    }
    const name = `${above}/${segment}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    names.set(id, count === 1 ? name : `${name}~${count}`);
  }
  return names;
}

function segmentOf({ part, parent }: Node): string | null {
  switch (part.kind) {
    case "scope":
      if (parent === null) return null;
      return parent.part.kind === "scope" ? part.scope.id : indexed(part.scope.id, part.index);
    case "work":
      return parent?.part.kind === "undoing" ? part.task : indexed(part.task, part.index);
    case "activity":
      return part.activity.id;
    case "race":
      return part.waits.length > 0 ? part.race.id : null;
    case "noFlow":
      return part.fork.id;
    case "catch":
      return part.element;
    case "seq":
    case "fork":
    case "repeat":
    case "path":
    case "undoing":
      return null;
  }
}

function indexed(id: string, index: number | null): string | null {
  return index === null ? null : `${id}[${index}]`;
}

export function openInOracle(oracle: OracleState): readonly OpenNode[] {
  if (oracle.ending !== null) return [];
  const nodes = all(oracle);
  const names = namesOf(
    nodes.map((node) => ({ id: node.id, parent: node.parent?.id ?? null, segment: segmentOf(node) })),
  );
  return nodes.flatMap((node): readonly OpenNode[] => {
    const name = names.get(node.id) ?? "";
    const { part } = node;
    const waits = waitsOf(node).map((wait): OpenNode => {
      const { kind } = wait.on;
      if (kind === "error" || kind === "escalation" || kind === "cancel")
        throw new Error(`a wait for ${kind} cannot be open`);
      return { name: `${name} ${wait.element}`, kind, dueAt: wait.dueAt, node, wait };
    });
    const incident = part.kind === "noFlow" ? "noFlow" : part.kind === "work" ? part.incident : null;
    if (incident !== null) {
      return [...waits, { name: `${name} ${incident}`, kind: "incident", dueAt: null, node, wait: null }];
    }
    if (part.kind !== "work" || part.does === "receive") return waits;
    return [...waits, { name, kind: part.does, dueAt: null, node, wait: null }];
  });
}

/** A compensating event has no own name; a transaction that is being cancelled has one. */
function isThrowing(role: Role): boolean {
  return role.kind === "undoing" && role.after !== "cancelled";
}

const KINDS = { work: "work", task: "user", call: "call" } as const;

export function openInMachine(state: State): readonly OpenRow[] {
  if (state.ending !== null) return [];
  const rows = [...state.rows].sort((a, b) => a.id - b.id);
  const names = namesOf(
    rows.map(({ id, parent, element, instance, role }) => ({
      id,
      parent: parent === 0 ? null : parent,
      segment: parent === 0 || isThrowing(role) ? null : (indexed(element, instance) ?? element),
    })),
  );
  const found: OpenRow[] = [];
  for (const command of state.commands) {
    if (command.kind !== "work" && command.kind !== "task" && command.kind !== "call") continue;
    const { location, row } = command;
    found.push({ name: names.get(row) ?? "", kind: KINDS[command.kind], dueAt: null, row, location });
  }
  for (const { trigger, location, row, element } of state.subscriptions) {
    const command = state.commands.find((each) => each.location === location);
    const dueAt = command?.kind === "timer" ? command.dueAt : null;
    const kind = trigger.kind === "conditional" ? "condition" : trigger.kind;
    if (kind !== "message" && kind !== "timer" && kind !== "signal" && kind !== "condition") continue;
    if (command === undefined && kind !== "condition") continue;
    found.push({ name: `${names.get(row) ?? ""} ${element}`, kind, dueAt, row, location });
  }
  for (const { id, incident } of rows) {
    // The oracle does not model that a join waits forever.
    if (incident === null || incident.kind === "joinDeadlock") continue;
    found.push({
      name: `${names.get(id) ?? ""} ${incident.kind}`,
      kind: "incident",
      dueAt: null,
      row: id,
      location: "",
    });
  }
  return found;
}

/** The open events as sorted text, for comparison. */
export function listed(open: readonly Open[]): readonly string[] {
  return open.map(({ kind, name, dueAt }) => `${kind} ${name}${dueAt === null ? "" : ` at ${dueAt}`}`).sort();
}

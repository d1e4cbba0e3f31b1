import type { Row, State, Subscription, Undoable } from "../machine/state.ts";
import { ROOT, stateOf, type WorkingState } from "../machine/working-state.ts";
import { type Element, isActivity, isEvent, type Process } from "../model/process.ts";

/** New ids of renamed elements and flows. Other ids stay the same. */
export type ElementMap = Readonly<Record<string, string>>;

/** A reason why a run cannot be migrated, or a note about what changes. */
export interface MigrationProblem {
  readonly kind: "gone" | "type" | "scope" | "trigger" | "call" | "restarts" | "taskKept" | "notListening";
  readonly element: string;
  readonly text: string;
}

export interface MigrationCheck {
  /** The run can be migrated only if there are none. */
  readonly problems: readonly MigrationProblem[];
  readonly notes: readonly MigrationProblem[];
  /** The machine state in the target version. Valid only if there are no problems. */
  readonly state: State;
}

/** Checks a run against another version of its process. Pure; reports all problems at once. */
export function checkMigration(state: WorkingState, to: Process, map: ElementMap): MigrationCheck {
  const problems: MigrationProblem[] = [];
  const notes: MigrationProblem[] = [];
  const at = (id: string): string => (Object.hasOwn(map, id) ? (map[id] ?? id) : id);
  for (const row of state.rows.values()) if (row.id !== ROOT) problems.push(...rowProblems(state, to, row, at));
  for (const subscription of state.subscriptions.values()) problems.push(...triggerProblems(to, subscription, at));
  for (const command of state.commands.values()) {
    const element = "row" in command ? (state.rows.get(command.row)?.element ?? "") : command.location;
    if (command.kind === "call") {
      problems.push({ kind: "call", element, text: "the called process is still running; migrate after it has ended" });
    }
    if (command.kind === "work" || command.kind === "listener") {
      notes.push({ kind: "restarts", element, text: "its handler is called again in the target version" });
    }
    if (command.kind === "task") notes.push({ kind: "taskKept", element, text: "its open task is kept unchanged" });
  }
  for (const row of state.rows.values()) notes.push(...newBoundaryEvents(state, to, row, at));
  return { problems, notes, state: migratedState(stateOf(state), at) };
}

function rowProblems(
  state: WorkingState,
  to: Process,
  row: Row,
  at: (id: string) => string,
): readonly MigrationProblem[] {
  const was = state.process.elements.get(row.element);
  const target = to.elements.get(at(row.element));
  const found = (kind: MigrationProblem["kind"], text: string): readonly MigrationProblem[] => [
    { kind, element: row.element, text },
  ];
  if (was === undefined) return [];
  if (target === undefined) return found("gone", `${at(row.element)} not found in the target version; map the element`);
  if (target.type !== was.type) return found("type", `${target.id} is a ${target.type}, not a ${was.type}`);
  const above = state.rows.get(row.parent);
  const scope = above === undefined || above.id === ROOT ? to.id : scopeOf(state, above, at);
  const problems: MigrationProblem[] = [];
  if (target.scope !== scope)
    problems.push(...found("scope", `${target.id} is in scope ${target.scope}, not in ${scope}`));
  if (loopOf(was) !== loopOf(target)) problems.push(...found("type", `${target.id} has a different loop marker`));
  return [...problems, ...flowProblems(to, row, at)];
}

/** The scope of a child row. Instances of a loop are in the scope of the loop. */
function scopeOf(state: WorkingState, above: Row, at: (id: string) => string): string {
  if (above.role.kind !== "loop") return at(above.element);
  const outer = state.rows.get(above.parent);
  return outer === undefined || outer.id === ROOT ? state.process.id : scopeOf(state, outer, at);
}

/** Tokens at joins need the same joins in the target version. */
function flowProblems(to: Process, row: Row, at: (id: string) => string): readonly MigrationProblem[] {
  if (row.role.kind !== "scope") return [];
  return Object.entries(row.role.joins).flatMap(([gateway, flows]) =>
    Object.keys(flows).flatMap((flow): readonly MigrationProblem[] =>
      to.flows.get(at(flow))?.target === at(gateway)
        ? []
        : [
            {
              kind: "gone",
              element: flow,
              text: `a token of this flow waits at ${gateway}, which the flow does not reach in the target version`,
            },
          ],
    ),
  );
}

function triggerProblems(to: Process, { element, index, trigger }: Subscription, at: (id: string) => string) {
  const target = to.elements.get(at(element));
  const found = (kind: MigrationProblem["kind"], text: string): readonly MigrationProblem[] => [
    { kind, element, text },
  ];
  if (target === undefined) return found("gone", `${at(element)} not found in the target version; map the element`);
  const same = isEvent(target) ? target.triggers[index]?.kind === trigger.kind : trigger.kind === "message";
  return same ? [] : found("trigger", `${target.id} has no ${trigger.kind} trigger`);
}

/** New boundary events of an activity take no effect in runs that are already inside it. */
function newBoundaryEvents(
  state: WorkingState,
  to: Process,
  row: Row,
  at: (id: string) => string,
): readonly MigrationProblem[] {
  const target = to.elements.get(at(row.element));
  if (target === undefined || !isActivity(target) || row.instance !== null) return [];
  const subscribed = new Set(
    [...state.subscriptions.values()].filter((each) => each.row === row.id).map((each) => at(each.element)),
  );
  return target.boundaries
    .filter((id) => {
      const event = to.elements.get(id);
      return event !== undefined && isEvent(event) && event.triggers.length > 0 && !subscribed.has(id) && waits(event);
    })
    .map((id) => ({
      kind: "notListening",
      element: row.element,
      text: `boundary event ${id} is new; it takes effect at the next activation`,
    }));
}

function waits(event: Element): boolean {
  const kinds = isEvent(event) ? event.triggers.map(({ kind }) => kind) : [];
  return kinds.some(
    (kind) => kind !== "error" && kind !== "escalation" && kind !== "compensation" && kind !== "cancel",
  );
}

function loopOf(element: Element): string {
  return isActivity(element) && element.loop !== null ? element.loop.kind : "none";
}

function migratedState(state: State, at: (id: string) => string): State {
  const moved: State = {
    ...structuredClone(state),
    rows: state.rows.map((row) => ({
      ...structuredClone(row),
      element: row.id === ROOT ? row.element : at(row.element),
      role: migratedRole(row.role, at),
    })),
    subscriptions: state.subscriptions.map((each) => ({ ...each, element: at(each.element) })),
    completed: Object.fromEntries(Object.entries(state.completed).map(([id, times]) => [at(id), times])),
  };
  return moved;
}

function migratedRole(role: Row["role"], at: (id: string) => string): Row["role"] {
  switch (role.kind) {
    case "plain":
      return role;
    case "loop":
      return { ...role, undo: role.undo.map((each) => migratedUndoable(each, at)) };
    case "undoing":
      return {
        ...role,
        queue: role.queue.map((each) => migratedUndoable(each, at)),
        undo: role.undo.map((each) => migratedUndoable(each, at)),
      };
    case "scope": {
      const flows = (counts: Record<string, number>) =>
        Object.fromEntries(Object.entries(counts).map(([id, count]) => [at(id), count]));
      return {
        ...role,
        joins: Object.fromEntries(Object.entries(role.joins).map(([id, counts]) => [at(id), flows(counts)])),
        resets: Object.fromEntries(Object.entries(role.resets).map(([id, list]) => [at(id), list.map(at)])),
        undo: role.undo.map((each) => migratedUndoable(each, at)),
        interruptedBy: role.interruptedBy === null ? null : at(role.interruptedBy),
        waiting: role.waiting.map(at),
      };
    }
  }
}

function migratedUndoable(undoable: Undoable, at: (id: string) => string): Undoable {
  const { element, handler, inner } = undoable;
  return {
    ...undoable,
    element: at(element),
    handler: handler === null ? null : at(handler),
    inner: inner.map((each) => migratedUndoable(each, at)),
  };
}

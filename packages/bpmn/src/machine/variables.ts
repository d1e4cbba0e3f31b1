import type { Expression, Mapping } from "../model/process.ts";
import type { Row, Variables } from "./state.ts";
import { selfAndAncestors } from "./state-rows.ts";
import { IncidentError, ROOT, type WorkingState } from "./working-state.ts";

/** The variables that a row sees. Its own hide those of its ancestors. */
export function visibleVariables(state: WorkingState, row: Row): Variables {
  const own: Variables[] = [];
  for (const each of selfAndAncestors(state, row)) if (each.variables !== null) own.push(each.variables);
  if (own.length === 1) return own[0] ?? {};
  return Object.assign({}, ...own.reverse()) as Variables;
}

/** Like `visibleVariables`, by row id. Empty if the row is gone. */
export function variablesOfRow(state: WorkingState, id: number): Variables {
  const row = state.rows.get(id);
  return row === undefined ? {} : visibleVariables(state, row);
}

/**
 * Assigns each variable in the nearest ancestor that has it, otherwise in the process. Commands and handlers may hold a
 * reference to the old object, so objects are replaced and never mutated.
 */
export function assign(state: WorkingState, row: Row | undefined, variables: Variables): void {
  const replaced = new Set<Row>();
  for (const [name, value] of Object.entries(variables)) {
    const holder = row === undefined ? undefined : holderOf(state, row, name);
    const target = holder ?? state.rows.get(ROOT);
    if (target === undefined) return;
    if (!replaced.has(target)) target.variables = { ...target.variables };
    replaced.add(target);
    put(target.variables ?? {}, name, value);
    state.variablesChanged = true;
    state.observer?.assigned?.(target, name, value);
  }
}

/** Assigns a variable of the row itself. */
export function assignLocal(state: WorkingState, row: Row, name: string, value: unknown): void {
  row.variables = { ...row.variables };
  put(row.variables, name, value);
  state.variablesChanged = true;
  state.observer?.assigned?.(row, name, value);
}

/** Defines `__proto__` as a plain property, so that no name reaches the prototype. */
function put(variables: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") variables[name] = value;
  else Object.defineProperty(variables, name, { value, writable: true, enumerable: true, configurable: true });
}

function holderOf(state: WorkingState, row: Row, name: string): Row | undefined {
  for (const each of selfAndAncestors(state, row))
    if (each.variables !== null && Object.hasOwn(each.variables, name)) return each;
  return undefined;
}

export function evaluate(
  state: WorkingState,
  row: Row,
  expression: Expression,
  more: Variables | null = null,
): unknown {
  if (expression.isStatic) return expression.text;
  const seen = visibleVariables(state, row);
  return evaluateOrIncident(state, expression, more === null ? seen : { ...seen, ...more });
}

/** Only `true` meets a condition. */
export function isTrue(state: WorkingState, row: Row, condition: Expression, more: Variables | null = null): boolean {
  return evaluate(state, row, condition, more) === true;
}

function evaluateOrIncident(state: WorkingState, expression: Expression, variables: Variables): unknown {
  try {
    return state.environment.evaluate(expression, variables, state.at);
  } catch (error) {
    throw new IncidentError("expression", error instanceof Error ? error.message : String(error));
  }
}

/** The targets of mappings with their values. The source of a mapping sees the targets before it. */
export function applyMappings(
  state: WorkingState,
  row: Row,
  mappings: readonly Mapping[],
  more: Variables | null,
): Variables {
  const made: [string, unknown][] = [];
  for (const { source, target } of mappings) {
    const seen = made.length === 0 ? more : { ...more, ...Object.fromEntries(made) };
    made.push([target, evaluate(state, row, source, seen) ?? null]);
  }
  return Object.fromEntries(made);
}

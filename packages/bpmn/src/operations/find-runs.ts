import { isDeepStrictEqual } from "node:util";
import { kinds, optionTable, type Page, PawlError, type RunSummary } from "pawl";
import { DEFINITION_WORKFLOW } from "../deployment/definition-run.ts";
import type { ProcessEngine } from "../program/process-engine.ts";
import type { ProcessInput } from "../program/process-input.ts";
import { businessKeyTag, startedByTag } from "../program/topics.ts";
import type { ProcessView } from "./process-view.ts";

/** Selects instances. `incident`, `element` and `variable` read the state of each instance that the other fields select. */
export interface FindQuery {
  readonly businessKey?: string;
  readonly process?: string;
  /** Default: every status; with `incident` or `element`, those of instances that have not ended. */
  readonly status?: ReadonlyArray<RunSummary["status"]>;
  readonly startedBy?: string;
  /** The least and the greatest priority. Instances without a priority are not found. */
  readonly priority?: { readonly atLeast?: number; readonly atMost?: number };
  /** Whether the instance has an incident. */
  readonly incident?: boolean;
  /** An element that is active. */
  readonly element?: string;
  /** A variable of the process, with its value. */
  readonly variable?: { readonly name: string; readonly value: unknown };
  /** Default 100. A page may have fewer instances, although more follow. */
  readonly limit?: number;
  readonly cursor?: string;
}

const OPEN: ReadonlyArray<RunSummary["status"]> = ["pending", "running", "suspended", "paused", "compensating"];
/** The most pages of runs that one call reads. */
const PAGES_MAX = 20;

const BOUND = kinds.number(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
export const FIND_QUERY = optionTable<FindQuery>("find", {
  businessKey: kinds.text,
  process: kinds.name,
  status: kinds.value,
  startedBy: kinds.name,
  priority: kinds.options(
    optionTable<NonNullable<FindQuery["priority"]>>("priority", { atLeast: BOUND, atMost: BOUND }),
  ),
  incident: kinds.flag,
  element: kinds.text,
  variable: kinds.options(
    optionTable<NonNullable<FindQuery["variable"]>>("variable", {
      name: kinds.required(kinds.name),
      value: kinds.value,
    }),
  ),
  limit: kinds.value,
  cursor: kinds.value,
});

interface FindParts {
  readonly engine: ProcessEngine;
  /** Whether a workflow is a deployed process. */
  isProcess(workflow: string): boolean;
  view(runId: string): Promise<ProcessView>;
}

/** Lists instances, newest first. Runs of code, and those that store definitions, are not instances. */
export async function findRuns(parts: FindParts, query: FindQuery): Promise<Page<RunSummary>> {
  const { businessKey, process, startedBy, status = statusesOf(query), limit } = query;
  const tags = [
    ...(businessKey === undefined ? [] : [businessKeyTag(businessKey)]),
    ...(startedBy === undefined ? [] : [startedByTag(startedBy)]),
  ];
  const [tag] = tags;
  let { cursor } = query;
  for (let pages = 1; ; pages += 1) {
    const page = await parts.engine.list({
      ...(status !== undefined && { status }),
      ...(tag !== undefined && { tag }),
      ...(process !== undefined && { workflow: process }),
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor }),
    });
    const items: RunSummary[] = [];
    for (const run of page.items) if (isInstance(parts, run, tags) && (await fits(parts, run, query))) items.push(run);
    if (items.length > 0 || page.cursor === null || pages === PAGES_MAX) return { items, cursor: page.cursor };
    cursor = page.cursor;
  }
}

function statusesOf({ incident, element }: FindQuery): FindQuery["status"] {
  return incident === undefined && element === undefined ? undefined : OPEN;
}

function isInstance({ isProcess }: FindParts, { workflow, tags: own }: RunSummary, tags: readonly string[]): boolean {
  return workflow !== DEFINITION_WORKFLOW && isProcess(workflow) && tags.every((tag) => own.includes(tag));
}

async function fits({ view }: FindParts, run: RunSummary, query: FindQuery): Promise<boolean> {
  const { priority, incident, element, variable } = query;
  if (priority !== undefined && !isWithin(run, priority)) return false;
  if (incident === undefined && element === undefined && variable === undefined) return true;
  const state = await viewIfReadable(view, run.id);
  if (state === null) return false;
  return (
    (incident === undefined || state.incidents.length > 0 === incident) &&
    (element === undefined || isAt(state, element)) &&
    (variable === undefined ||
      (Object.hasOwn(state.variables, variable.name) &&
        isDeepStrictEqual(state.variables[variable.name], variable.value)))
  );
}

function isWithin({ input }: RunSummary, { atLeast, atMost }: NonNullable<FindQuery["priority"]>): boolean {
  const own = (input as ProcessInput | undefined)?.priority;
  if (own === undefined) return false;
  return own >= (atLeast ?? Number.NEGATIVE_INFINITY) && own <= (atMost ?? Number.POSITIVE_INFINITY);
}

/** Active, or a join that holds tokens. */
function isAt({ currentNodes, joins }: ProcessView, element: string): boolean {
  return [...currentNodes, ...joins].some((each) => each.element === element);
}

/** Null if the run cannot be read, or was deleted meanwhile. */
async function viewIfReadable(view: FindParts["view"], runId: string): Promise<ProcessView | null> {
  try {
    return await view(runId);
  } catch (error) {
    if (error instanceof PawlError && (error.code === "PAYLOAD_UNREADABLE" || error.code === "RUN_NOT_FOUND"))
      return null;
    throw error;
  }
}

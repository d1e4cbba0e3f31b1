import { isTerminal, type Run, STATUSES, type Status } from "../../model/run.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { ListQuery, Page, PageQuery } from "../store.ts";
import { type RunReply, readRun } from "./decode-reply.ts";
import { byWireBytes, fromWire, toWire, toWireOrNull } from "./wire-text.ts";

export type Read = (operation: string, args: readonly string[]) => Promise<unknown>;

type Filter = Omit<ListQuery, "limit" | "cursor">;

/** A sorted set that holds some of the runs in the order of the list, and what is asked of them beyond being in it. */
interface Way {
  readonly key: string;
  readonly statuses: readonly Status[];
  /** Whether all that are in the set have these statuses. */
  readonly exact: boolean;
  readonly workflow: string | null;
}

interface Bounds {
  readonly min: string;
  readonly max: string;
}

const OPEN = STATUSES.filter((status) => !isTerminal(status));

/** Lists of runs, newest first. A script looks at a bounded number of them, so that no list keeps the server from its work. */
export class RedisRunList {
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  list(query: ListQuery): Promise<Page<Run>> {
    return this.#page("runs", waysOf(query), boundsOf(query), query);
  }

  children(runId: string, query: PageQuery): Promise<Page<Run>> {
    const way = { key: `:ch:${toWire(runId)}`, statuses: STATUSES, exact: true, workflow: null };
    return this.#page("children", [way], boundsOf({}), query);
  }

  async count(query: Filter): Promise<number> {
    const bounds = boundsOf(query);
    let total = 0;
    for (const way of waysOf(query)) total += await this.#countWay(way, bounds);
    return total;
  }

  async #countWay(way: Way, { min, max }: Bounds): Promise<number> {
    let total = 0;
    for (let offset: number | null = 0; offset !== null; ) {
      const args = [way.key, min, max, String(offset), way.exact ? "1" : "0", ...filterArgs(way)];
      const [count, next] = (await this.#read("count", args)) as [number, number | null];
      total += count;
      offset = next;
    }
    return total;
  }

  /** Each way gives its first runs below the cursor; the page is the newest of them all. */
  async #page(list: string, ways: readonly Way[], bounds: Bounds, { limit, cursor }: PageQuery): Promise<Page<Run>> {
    const place = readCursor(list, ["number", "string"], cursor);
    const found: Run[] = [];
    for (const way of ways) found.push(...(await this.#below(way, bounds, place, limit + 1)));
    if (ways.length > 1) found.sort(newestFirst);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
  }

  async #below(
    way: Way,
    bounds: Bounds,
    place: readonly [createdAt: number, id: string] | null,
    limit: number,
  ): Promise<Run[]> {
    const found: Run[] = [];
    for (let from = place; ; ) {
      const max = from === null || isBelow(bounds.max, from[0]) ? bounds.max : String(from[0]);
      const below = toWireOrNull(from === null ? null : from[1]);
      const args = [way.key, bounds.min, max, below, String(limit - found.length), ...filterArgs(way)];
      const [runs, score, id, done] = (await this.#read("scan", args)) as [readonly RunReply[], string, string, number];
      found.push(...runs.map(readRun));
      if (done === 1 || found.length === limit) return found;
      from = [Number(score), fromWire(id)];
    }
  }
}

/** Whether an upper bound (nothing, or `(` and a time) keeps out what was created at `createdAt`. */
function isBelow(max: string, createdAt: number): boolean {
  return max !== "+inf" && Number(max.slice(1)) <= createdAt;
}

function filterArgs({ statuses, workflow }: Way): readonly string[] {
  return [String(statuses.length), ...statuses, toWireOrNull(workflow)];
}

function waysOf({ status = STATUSES, workflow, tag }: Filter): readonly Way[] {
  const exact = STATUSES.every((one) => status.includes(one));
  if (tag !== undefined) {
    const rest = { statuses: status, exact: exact && workflow === undefined, workflow: workflow ?? null };
    return [{ key: `:lt:${toWire(tag)}`, ...rest }];
  }
  if (workflow !== undefined) return [{ key: `:lw:${toWire(workflow)}`, statuses: status, exact, workflow: null }];
  const ways: Way[] = [...new Set(status.filter(isTerminal))].map((one) => ({
    key: `:le:${one}`,
    statuses: [one],
    exact: true,
    workflow: null,
  }));
  const open = status.filter((one) => !isTerminal(one));
  const allOpen = OPEN.every((one) => open.includes(one));
  if (open.length > 0) ways.push({ key: ":lo", statuses: open, exact: allOpen, workflow: null });
  return ways;
}

function boundsOf({ createdAfter, createdBefore }: Pick<Filter, "createdAfter" | "createdBefore">): Bounds {
  return {
    min: createdAfter === undefined ? "-inf" : `(${createdAfter}`,
    max: createdBefore === undefined ? "+inf" : `(${createdBefore}`,
  };
}

/** As a sorted set has them: by time, then by the bytes of the id. */
export function newestFirst(left: Run, right: Run): number {
  return right.createdAt - left.createdAt || byWireBytes(right.id, left.id);
}

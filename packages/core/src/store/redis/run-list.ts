import { isTerminal, type Run, STATUSES, type Status } from "../../model/run.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { ListQuery, Page, PageQuery } from "../store.ts";
import { type RunReply, readRun } from "./decode-reply.ts";
import { byWireBytes, fromWire, toWire, toWireOrNull } from "./wire-text.ts";

export type Read = (operation: string, args: readonly string[]) => Promise<unknown>;

type Filter = Omit<ListQuery, "limit" | "cursor">;

/** A sorted set of runs in list order, and the conditions that its members must also meet. */
interface RunIndex {
  readonly key: string;
  readonly statuses: readonly Status[];
  /** Whether every member meets the conditions, so that no run must be read to count them. */
  readonly exact: boolean;
  readonly workflow: string | null;
}

interface Bounds {
  readonly min: string;
  readonly max: string;
}

const OPEN = STATUSES.filter((status) => !isTerminal(status));

/** Lists runs, newest first. Each script call reads a bounded number of runs, so that a long list does not block the server. */
export class RedisRunList {
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  list(query: ListQuery): Promise<Page<Run>> {
    return this.#page("runs", indexesFor(query), boundsOf(query), query);
  }

  children(runId: string, query: PageQuery): Promise<Page<Run>> {
    const index = { key: `:ch:${toWire(runId)}`, statuses: STATUSES, exact: true, workflow: null };
    return this.#page("children", [index], boundsOf({}), query);
  }

  async count(query: Filter): Promise<number> {
    const bounds = boundsOf(query);
    let total = 0;
    for (const index of indexesFor(query)) total += await this.#countIndex(index, bounds);
    return total;
  }

  async #countIndex(index: RunIndex, { min, max }: Bounds): Promise<number> {
    let total = 0;
    for (let offset: number | null = 0; offset !== null; ) {
      const args = [index.key, min, max, String(offset), index.exact ? "1" : "0", ...filterArgs(index)];
      const [count, next] = (await this.#read("count", args)) as [number, number | null];
      total += count;
      offset = next;
    }
    return total;
  }

  /** Reads the first runs after the cursor from each index. The page is the newest of them. */
  async #page(
    list: string,
    indexes: readonly RunIndex[],
    bounds: Bounds,
    { limit, cursor }: PageQuery,
  ): Promise<Page<Run>> {
    const position = readCursor(list, ["number", "string"], cursor);
    const found: Run[] = [];
    for (const index of indexes) found.push(...(await this.#after(index, bounds, position, limit + 1)));
    if (indexes.length > 1) found.sort(newestFirst);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
  }

  async #after(
    index: RunIndex,
    bounds: Bounds,
    position: readonly [createdAt: number, id: string] | null,
    limit: number,
  ): Promise<Run[]> {
    const found: Run[] = [];
    for (let from = position; ; ) {
      const max = from === null || excludes(bounds.max, from[0]) ? bounds.max : String(from[0]);
      const afterId = toWireOrNull(from === null ? null : from[1]);
      const args = [index.key, bounds.min, max, afterId, String(limit - found.length), ...filterArgs(index)];
      const [runs, score, id, done] = (await this.#read("scan", args)) as [readonly RunReply[], string, string, number];
      found.push(...runs.map(readRun));
      if (done === 1 || found.length === limit) return found;
      from = [Number(score), fromWire(id)];
    }
  }
}

/** Whether an upper bound (`+inf`, or `(` and a time) excludes runs created at `createdAt`. */
function excludes(max: string, createdAt: number): boolean {
  return max !== "+inf" && Number(max.slice(1)) <= createdAt;
}

function filterArgs({ statuses, workflow }: RunIndex): readonly string[] {
  return [String(statuses.length), ...statuses, toWireOrNull(workflow)];
}

function indexesFor({ status = STATUSES, workflow, tag }: Filter): readonly RunIndex[] {
  const exact = STATUSES.every((one) => status.includes(one));
  if (tag !== undefined) {
    const rest = { statuses: status, exact: exact && workflow === undefined, workflow: workflow ?? null };
    return [{ key: `:lt:${toWire(tag)}`, ...rest }];
  }
  if (workflow !== undefined) return [{ key: `:lw:${toWire(workflow)}`, statuses: status, exact, workflow: null }];
  const indexes: RunIndex[] = [...new Set(status.filter(isTerminal))].map((one) => ({
    key: `:le:${one}`,
    statuses: [one],
    exact: true,
    workflow: null,
  }));
  const open = status.filter((one) => !isTerminal(one));
  const allOpen = OPEN.every((one) => open.includes(one));
  if (open.length > 0) indexes.push({ key: ":lo", statuses: open, exact: allOpen, workflow: null });
  return indexes;
}

function boundsOf({ createdAfter, createdBefore }: Pick<Filter, "createdAfter" | "createdBefore">): Bounds {
  return {
    min: createdAfter === undefined ? "-inf" : `(${createdAfter}`,
    max: createdBefore === undefined ? "+inf" : `(${createdBefore}`,
  };
}

/** The reverse order of the sorted sets: by time, then by the bytes of the id. */
export function newestFirst(left: Run, right: Run): number {
  return right.createdAt - left.createdAt || byWireBytes(right.id, left.id);
}

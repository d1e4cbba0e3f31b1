import { isTerminal, type Run, STATUSES } from "../model/run.ts";
import type { ListQuery, Page, Reader } from "../store/store.ts";

/** Which runs a list has, newest first. Times are epoch ms. */
export interface RunQuery extends Partial<ListQuery> {
  readonly version?: number;
  /** The id of the run that started the listed runs as its children. */
  readonly parent?: string;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
}

type ReadRuns = <T>(read: (reader: Reader) => Promise<T>) => Promise<T>;

const LIMIT_DEFAULT = 100;
/** The most pages of the store that one call reads. */
const PAGES_MAX = 20;

/**
 * Lists runs. A store selects by the filters that it has an index for; the others are applied to its pages. So a call reads a bounded number
 * of rows, and its page may have fewer runs than `limit`, or none, although more follow.
 */
export async function listRuns(query: RunQuery, readRuns: ReadRuns): Promise<Page<Run>> {
  const { limit = LIMIT_DEFAULT, parent } = query;
  const stored = storedQuery(query);
  let { cursor } = query;
  for (let pages = 1; ; pages += 1) {
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const found = await readRuns((reader) =>
      parent === undefined ? reader.list({ ...stored, ...page }) : reader.children(parent, page),
    );
    const items = found.items.filter((run) => fits(run, query));
    if (items.length > 0 || found.cursor === null || pages === PAGES_MAX) return { items, cursor: found.cursor };
    cursor = found.cursor;
  }
}

/** A run that ended before a time was created before it, and only an ended run has an end. */
function storedQuery(query: RunQuery): Omit<ListQuery, "limit" | "cursor"> {
  const { status = STATUSES, workflow, tag, createdAfter, createdBefore, endedAfter, endedBefore } = query;
  const hasEnd = endedAfter !== undefined || endedBefore !== undefined;
  const before = Math.min(createdBefore ?? Number.POSITIVE_INFINITY, endedBefore ?? Number.POSITIVE_INFINITY);
  return {
    ...(query.status === undefined && !hasEnd ? {} : { status: hasEnd ? status.filter(isTerminal) : status }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(tag === undefined ? {} : { tag }),
    ...(createdAfter === undefined ? {} : { createdAfter }),
    ...(before === Number.POSITIVE_INFINITY ? {} : { createdBefore: before }),
  };
}

function fits(run: Run, { status, workflow, version, tag, createdAfter, createdBefore, ...query }: RunQuery): boolean {
  const { endedAfter, endedBefore } = query;
  const endedAt = run.endedAt ?? Number.NaN;
  return (
    (status === undefined || status.includes(run.status)) &&
    (workflow === undefined || workflow === run.workflow) &&
    (version === undefined || version === run.version) &&
    (tag === undefined || run.tags.includes(tag)) &&
    (createdAfter === undefined || run.createdAt > createdAfter) &&
    (createdBefore === undefined || run.createdAt < createdBefore) &&
    (endedAfter === undefined || endedAt > endedAfter) &&
    (endedBefore === undefined || endedAt < endedBefore)
  );
}

import { type Element, type Flow, isActivity, isEvent, isSubProcess, type Process } from "../model/process.ts";

/**
 * Places the elements of a process: each scope is a grid, with a column for each step from its starts, and a row for each branch.
 * Sub-processes are drawn expanded. It finds a place for everything, and costs no more than a few passes over the flows.
 */

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly boxes: ReadonlyMap<string, Box>;
  readonly lines: ReadonlyMap<string, readonly Point[]>;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Cell {
  readonly column: number;
  readonly row: number;
}

const EVENT: Size = { width: 36, height: 36 };
const GATEWAY: Size = { width: 50, height: 50 };
const TASK: Size = { width: 100, height: 80 };
const GAP_X = 60;
const GAP_Y = 50;
const PADDING = 40;

export function layoutOf(process: Process): Layout {
  const sizes = new Map<string, Size>();
  const grids = new Map<string, Grid>();
  // Inner scopes come first, because the size of a sub-process is that of its content.
  for (const scope of scopesFrom(process).toReversed()) {
    const grid = gridOf(process, scope, sizes);
    grids.set(scope, grid);
    const size = { width: grid.width + 2 * PADDING, height: grid.height + 2 * PADDING };
    sizes.set(scope, { width: Math.max(size.width, TASK.width), height: Math.max(size.height, TASK.height) });
  }
  const boxes = new Map<string, Box>();
  for (const scope of scopesFrom(process)) {
    const outer = boxes.get(scope);
    const origin = outer === undefined ? { x: 160, y: 80 } : { x: outer.x + PADDING, y: outer.y + PADDING };
    place(process, grids.get(scope), origin, boxes);
  }
  const lines = new Map<string, readonly Point[]>();
  for (const flow of process.flows.values()) {
    const scope = process.elements.get(flow.source)?.scope ?? "";
    const line = lineOf(process, flow, boxes, grids.get(scope));
    if (line !== null) lines.set(flow.id, line);
  }
  return { boxes, lines };
}

/** The process and its sub-processes, outer ones first. */
function scopesFrom({ id, scopes, elements }: Process): readonly string[] {
  const found = [id];
  for (let at = 0; at < found.length; at += 1) {
    for (const each of scopes.get(found[at] ?? "")?.elements ?? []) {
      const element = elements.get(each);
      if (element !== undefined && isSubProcess(element)) found.push(each);
    }
  }
  return found;
}

interface Grid extends Size {
  readonly cells: ReadonlyMap<string, Cell>;
  readonly sizes: ReadonlyMap<string, Size>;
  /** Where each column and row starts, relative to the scope. */
  readonly columns: readonly number[];
  readonly rows: readonly number[];
  readonly widths: readonly number[];
  readonly heights: readonly number[];
}

function gridOf(process: Process, scope: string, inner: ReadonlyMap<string, Size>): Grid {
  const inside = (process.scopes.get(scope)?.elements ?? []).flatMap((id) => process.elements.get(id) ?? []);
  const nodes = inside.filter(({ type }) => type !== "boundaryEvent");
  const successors = new Map(nodes.map((node) => [node.id, successorsOf(process, node)]));
  const cells = cellsOf(nodes, successors);
  const sizes = new Map(nodes.map((node) => [node.id, inner.get(node.id) ?? sizeOf(node)]));
  const widths: number[] = [];
  const heights: number[] = [];
  for (const [id, { column, row }] of cells) {
    const { width, height } = sizes.get(id) ?? TASK;
    widths[column] = Math.max(widths[column] ?? 0, width);
    heights[row] = Math.max(heights[row] ?? 0, height);
  }
  const columns = startsOf(widths, GAP_X);
  const rows = startsOf(heights, GAP_Y);
  const width = (columns.at(-1) ?? 0) + (widths.at(-1) ?? 0);
  const height = (rows.at(-1) ?? 0) + (heights.at(-1) ?? 0);
  return { cells, sizes, columns, rows, widths, heights, width, height };
}

function startsOf(extents: readonly number[], gap: number): readonly number[] {
  let at = 0;
  return extents.map((extent) => {
    const start = at;
    at += extent + gap;
    return start;
  });
}

function sizeOf(element: Element): Size {
  if (isEvent(element)) return EVENT;
  return isActivity(element) ? TASK : GATEWAY;
}

/** The elements that follow one: by flows, by its boundary events, as its compensation, and by a link. */
function successorsOf({ elements, flows, scopes }: Process, element: Element): readonly string[] {
  const events = isActivity(element) ? element.boundaries.flatMap((id) => elements.get(id) ?? []) : [];
  const targets = [element, ...events].flatMap(({ outgoing }) => outgoing.map((id) => flows.get(id)?.target ?? ""));
  const undo = isActivity(element) && element.compensatedBy !== null ? [element.compensatedBy] : [];
  const links = isEvent(element) && element.type === "intermediateThrowEvent" ? element.triggers : [];
  const linked = links.flatMap((link) =>
    link.kind !== "link"
      ? []
      : (scopes.get(element.scope)?.elements ?? []).filter((id) => {
          const other = elements.get(id);
          if (other?.type !== "intermediateCatchEvent") return false;
          return other.triggers.some((trigger) => trigger.kind === "link" && trigger.name === link.name);
        }),
  );
  return [...targets, ...undo, ...linked];
}

/** A cell for each node. The column is the length of the longest way to it, without flows that lead back. */
function cellsOf(
  nodes: readonly Element[],
  successors: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, Cell> {
  const order = forward(nodes, successors);
  const position = new Map(order.map((id, i) => [id, i]));
  const columns = new Map<string, number>();
  const wishes = new Map<string, number>();
  const ends: number[] = [];
  const cells = new Map<string, Cell>();
  for (const id of order) {
    const column = columns.get(id) ?? 0;
    const row = Math.max(wishes.get(id) ?? 0, ends[column] ?? 0);
    ends[column] = row + 1;
    cells.set(id, { column, row });
    for (const next of successors.get(id) ?? []) {
      if ((position.get(next) ?? -1) <= (position.get(id) ?? 0)) continue;
      columns.set(next, Math.max(columns.get(next) ?? 0, column + 1));
      wishes.set(next, Math.min(wishes.get(next) ?? row, row));
    }
  }
  return cells;
}

/** An order in which each node comes before its successors, except for those that lead back to it. */
function forward(nodes: readonly Element[], successors: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const seen = new Set<string>();
  const done: string[] = [];
  const hasWayIn = new Set([...successors.values()].flat());
  const entries = nodes.filter(({ id }) => !hasWayIn.has(id));
  for (const { id: root } of [...nodes.toReversed(), ...entries.toReversed()].toReversed()) {
    if (seen.has(root)) continue;
    seen.add(root);
    const path = [{ id: root, next: 0 }];
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const all = successors.get(at.id) ?? [];
      const following = all[all.length - 1 - at.next];
      at.next += 1;
      if (following === undefined) {
        done.push(at.id);
        path.pop();
      } else if (!seen.has(following) && successors.has(following)) {
        seen.add(following);
        path.push({ id: following, next: 0 });
      }
    }
  }
  return done.toReversed();
}

/** Gives the elements of a scope their boxes: centred in their cells, and boundary events on the edge of their host. */
function place(process: Process, grid: Grid | undefined, origin: Point, boxes: Map<string, Box>): void {
  if (grid === undefined) return;
  for (const [id, { column, row }] of grid.cells) {
    const { width, height } = grid.sizes.get(id) ?? TASK;
    const x = origin.x + (grid.columns[column] ?? 0) + ((grid.widths[column] ?? width) - width) / 2;
    const y = origin.y + (grid.rows[row] ?? 0) + ((grid.heights[row] ?? height) - height) / 2;
    boxes.set(id, { x: Math.round(x), y: Math.round(y), width, height });
    const attached = attachedTo(process, id);
    for (const [i, event] of attached.entries()) {
      const middle = x + ((i + 1) * width) / (attached.length + 1);
      boxes.set(event, {
        x: Math.round(middle - EVENT.width / 2),
        y: Math.round(y + height - EVENT.height / 2),
        ...EVENT,
      });
    }
  }
}

/** The boundary events of an element, with its compensation event. */
function attachedTo({ elements, scopes }: Process, id: string): readonly string[] {
  const element = elements.get(id);
  if (element === undefined || !isActivity(element)) return [];
  if (element.compensatedBy === null) return element.boundaries;
  const beside = (scopes.get(element.scope)?.elements ?? []).filter((each) => {
    const event = elements.get(each);
    return event?.type === "boundaryEvent" && event.attachedTo === id && !element.boundaries.includes(each);
  });
  return [...element.boundaries, ...beside];
}

/** A flow to the next column is short; others run below the row of their source. */
function lineOf(
  { elements }: Process,
  { source, target }: Flow,
  boxes: ReadonlyMap<string, Box>,
  grid: Grid | undefined,
): readonly Point[] | null {
  const from = boxes.get(source);
  const to = boxes.get(target);
  const event = elements.get(source);
  if (from === undefined || to === undefined || event === undefined) return null;
  const end = { x: to.x, y: to.y + to.height / 2 };
  const isBoundary = event.type === "boundaryEvent";
  const host = isBoundary && isEvent(event) ? (event.attachedTo ?? "") : source;
  const before = end.x - GAP_X / 3;
  if (isBoundary) {
    const below = from.y + from.height + GAP_Y / 4;
    const middle = from.x + from.width / 2;
    const start = { x: middle, y: from.y + from.height };
    return points([start, { x: middle, y: below }, { x: before, y: below }, { x: before, y: end.y }, end]);
  }
  const start = { x: from.x + from.width, y: from.y + from.height / 2 };
  const columns = [host, target].map((id) => grid?.cells.get(id)?.column ?? 0);
  if ((columns[1] ?? 0) === (columns[0] ?? 0) + 1)
    return points([start, { x: before, y: start.y }, { x: before, y: end.y }, end]);
  const after = start.x + GAP_X / 3;
  const row = grid?.cells.get(source)?.row ?? 0;
  const centre = grid?.heights[row] ?? from.height;
  const below = start.y + centre / 2 + GAP_Y / 2;
  return points([
    start,
    { x: after, y: start.y },
    { x: after, y: below },
    { x: before, y: below },
    { x: before, y: end.y },
    end,
  ]);
}

/** Rounds the points, and omits those that lie on a straight line. */
function points(all: readonly Point[]): readonly Point[] {
  const rounded = all.map(({ x, y }) => ({ x: Math.round(x), y: Math.round(y) }));
  return rounded.filter((point, i) => {
    const before = rounded[i - 1];
    const after = rounded[i + 1];
    if (before === undefined || after === undefined) return true;
    const isStraight = (before.x === point.x && point.x === after.x) || (before.y === point.y && point.y === after.y);
    return !isStraight;
  });
}

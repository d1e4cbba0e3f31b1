import { isTerminal, type NewRun, type Payload, type Run, type Wait } from "../../model/run.ts";
import type { AwaitedPosts, ClaimableQuery, EndedQuery, HeadDraft, RunHead, RunTable } from "../tables.ts";
import { Cell, type Cells, cellOf, runOfCell } from "./cell.ts";
import { DueQueues } from "./due-queues.ts";
import { SetsByName } from "./sets-by-name.ts";

const NONE: readonly RunHead[] = [];

export class MemoryRunTable implements RunTable {
  #lastKey: number;
  readonly queues = new DueQueues();
  readonly #cells: Cells;
  readonly #owned = new SetsByName<Cell>();
  readonly #children = new SetsByName<Cell>();

  constructor(cells: Cells, lastKey = 0) {
    this.#cells = cells;
    this.#lastKey = lastKey;
  }

  head(runId: string): RunHead | null {
    return this.#cells.get(runId)?.head ?? null;
  }

  get(runId: string): Run | null {
    const cell = this.#cells.get(runId);
    return cell === undefined ? null : runOfCell(cell);
  }

  wait(head: RunHead): AwaitedPosts | null {
    return cellOf(this.#cells, head).wait;
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    if (this.#cells.has(run.id)) return false;
    this.#lastKey += 1;
    head.key = this.#lastKey;
    const cell = new Cell(run, head);
    this.#cells.set(run.id, cell);
    if (run.parent !== null) this.#children.add(run.parent.runId, cell);
    if (head.owner !== null) this.#owned.add(head.owner, cell);
    this.queues.note(cell);
    return true;
  }

  /** A row from elsewhere, as it is there. */
  load(cell: Cell): void {
    const { head, parent } = cell;
    this.#lastKey = Math.max(this.#lastKey, head.key);
    this.#cells.set(head.id, cell);
    if (parent !== null) this.#children.add(parent.runId, cell);
    if (head.owner !== null) this.#owned.add(head.owner, cell);
    this.queues.note(cell);
  }

  saveOwner(head: RunHead): void {
    this.#save(head);
  }

  saveInbox(head: RunHead): void {
    this.#save(head);
  }

  saveReady(head: RunHead): void {
    this.#save(head);
  }

  saveUndo(head: RunHead): void {
    this.#save(head);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    this.#save(head).wait = wait;
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    const cell = this.#save(head);
    cell.wait = null;
    cell.outcome = outcome;
  }

  saveVersion(head: RunHead): void {
    this.#save(head);
  }

  saveProgram(head: RunHead, { input }: Pick<Run, "input">): void {
    const cell = this.#save(head);
    cell.wait = null;
    cell.input = input;
  }

  openChildren(runId: string): readonly RunHead[] {
    if (!this.#children.has(runId)) return NONE;
    return this.children(runId)
      .filter((cell) => cell.parent?.onClose === "cancel" && !isTerminal(cell.head.status))
      .map((cell) => cell.head);
  }

  children(runId: string): Cell[] {
    return [...this.#children.of(runId)];
  }

  claimable(query: ClaimableQuery): readonly RunHead[] {
    return this.queues.claimable(query).map((cell) => cell.head);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return [...this.#owned.of(worker)].slice(0, limit).map((cell) => cell.head);
  }

  ended({ before, statuses, limit }: EndedQuery): readonly RunHead[] {
    const heads: RunHead[] = [];
    for (const cell of this.#cells.values()) {
      const { endedAt, status, id } = cell.head;
      if (endedAt === null || endedAt >= before || !statuses.includes(status)) continue;
      if (!this.#children.has(id) && !this.#isBelowOpen(cell)) heads.push(cell.head);
    }
    const rank = (head: RunHead): number => statuses.indexOf(head.status);
    heads.sort((left, right) => rank(left) - rank(right) || left.createdAt - right.createdAt || left.key - right.key);
    return heads.slice(0, limit);
  }

  remove(head: RunHead): void {
    const cell = cellOf(this.#cells, head);
    if (cell.parent !== null) this.#children.remove(cell.parent.runId, cell);
    this.#cells.delete(head.id);
  }

  /** Whether a run above is open, and has not been continued since the run below it was made. */
  #isBelowOpen(run: Cell): boolean {
    for (let cell = run; cell.parent !== null; ) {
      const above = this.#cells.get(cell.parent.runId);
      if (above === undefined || cell.head.createdAt < (above.head.startedAt ?? 0)) return false;
      if (!isTerminal(above.head.status)) return true;
      cell = above;
    }
    return false;
  }

  #save(head: RunHead): Cell {
    const cell = cellOf(this.#cells, head);
    const before = cell.head;
    cell.head = head;
    if (before.owner !== head.owner) {
      if (before.owner !== null) this.#owned.remove(before.owner, cell);
      if (head.owner !== null) this.#owned.add(head.owner, cell);
    }
    this.queues.note(cell);
    return cell;
  }
}

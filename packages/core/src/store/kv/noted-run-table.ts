import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import { type Cell, cellOf } from "../memory/cell.ts";
import type { AwaitedPosts, ClaimableQuery, EndedQuery, HeadDraft, RunHead, RunTable } from "../tables.ts";
import { KEYS } from "./keys.ts";
import type { NotedRows } from "./noted-rows.ts";

/** The rows of runs in memory, with a note of each change. */
export class NotedRunTable implements RunTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  head(runId: string): RunHead | null {
    return this.#runs.head(runId);
  }

  get(runId: string): Run | null {
    return this.#runs.get(runId);
  }

  wait(head: RunHead): AwaitedPosts | null {
    return this.#runs.wait(head);
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    if (!this.#runs.insert(run, head)) return false;
    this.#rows.used("runs", head.key);
    this.#rows.noteRow(head);
    this.#noteInput(head);
    return true;
  }

  saveOwner(head: RunHead): void {
    this.#runs.saveOwner(head);
    this.#rows.noteRow(head);
  }

  saveInbox(head: RunHead): void {
    this.#runs.saveInbox(head);
    this.#rows.noteRow(head);
  }

  saveReady(head: RunHead): void {
    this.#runs.saveReady(head);
    this.#rows.noteRow(head);
  }

  saveUndo(head: RunHead): void {
    this.#runs.saveUndo(head);
    this.#rows.noteRow(head);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    this.#runs.saveWait(head, wait);
    this.#rows.noteRow(head);
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    this.#runs.saveOutcome(head, outcome);
    this.#rows.noteRow(head);
    this.#rows.notes.put([KEYS.outcome, head.key], () => outcome);
  }

  saveVersion(head: RunHead): void {
    this.#runs.saveVersion(head);
    this.#rows.noteRow(head);
  }

  saveProgram(head: RunHead, program: Pick<Run, "input">): void {
    this.#runs.saveProgram(head, program);
    this.#rows.noteRow(head);
    this.#noteInput(head);
  }

  openChildren(runId: string): readonly RunHead[] {
    return this.#runs.openChildren(runId);
  }

  claimable(query: ClaimableQuery): readonly RunHead[] {
    return this.#runs.claimable(query);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return this.#runs.ownedBy(worker, limit);
  }

  ended(query: EndedQuery): readonly RunHead[] {
    return this.#runs.ended(query);
  }

  remove(head: RunHead): void {
    this.#runs.remove(head);
    for (const key of [KEYS.run, KEYS.input, KEYS.outcome]) this.#rows.notes.remove([key, head.key]);
    this.#rows.onRow(head.id, null);
  }

  #noteInput(head: RunHead): void {
    const cell: Cell = cellOf(this.#rows.memory.cells, head);
    this.#rows.notes.put([KEYS.input, head.key], () => ({ tags: cell.tags, parent: cell.parent, input: cell.input }));
  }

  get #runs(): NotedRows["memory"]["runs"] {
    return this.#rows.memory.runs;
  }
}

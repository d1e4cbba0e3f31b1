import { Chance } from "pawl-test-shared/chance";
import { noop } from "./noop.ts";

/** The owner of tasks, such as a worker. It can be killed or paused. */
export interface Actor {
  readonly name: string;
  readonly dead: boolean;
  readonly pausedUntil: number;
}

export interface Task {
  /** Null if the task has no owner that can be killed. */
  readonly actor: Actor | null;
  readonly label: string;
  run(): void;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly task: Task;
  open: boolean;
}

/** The start of virtual time: a round number that reads well in traces. */
export const START_AT = 1_000_000;
const TRACE_MAX = 400;
/** How often time advances although tasks are ready, so that timers fire during other work. */
const ADVANCE_PROBABILITY = 0.05;
const TICK_PROBABILITY = 0.2;

/**
 * The only source of order and time. Each step runs one ready task, chosen by the seed, and then all promise continuations.
 *
 * 1. The same seed and the same code produce the same steps, and the same `hash`.
 * 2. A task of a dead actor never runs. A task of a paused actor runs after the pause.
 */
export class Scheduler {
  now = START_AT;
  steps = 0;
  hash = 0x811c9dc5;
  readonly chance: Chance;
  #ready: Task[] = [];
  readonly #timers: Timer[] = [];
  #order = 0;
  readonly #trace: string[] = [];

  constructor(seed: number) {
    this.chance = new Chance(seed);
  }

  /** The last lines of the trace. */
  get trace(): readonly string[] {
    const turn = this.steps % TRACE_MAX;
    return this.#trace.length < TRACE_MAX ? this.#trace : [...this.#trace.slice(turn), ...this.#trace.slice(0, turn)];
  }

  add(task: Task): void {
    this.#ready.push(task);
  }

  /** Makes the task ready at `at`; the returned function cancels. */
  at(at: number, task: Task): () => void {
    this.#order += 1;
    const timer: Timer = { at, order: this.#order, task, open: true };
    const heap = this.#timers;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const other = heap[above];
      if (other === undefined || !isBefore(timer, other)) break;
      heap[index] = other;
      index = above;
    }
    heap[index] = timer;
    return () => {
      timer.open = false;
    };
  }

  /** Runs until `isDone` returns true, no task is left, or `stepsMax` is reached. */
  run(isDone: () => boolean, stepsMax: number): Promise<"done" | "idle" | "exhausted"> {
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          if (isDone()) resolve("done");
          else if (this.steps >= stepsMax) resolve("exhausted");
          else if (!this.#step()) resolve("idle");
          // Immediates run after all promise continuations and ticks.
          else setImmediate(turn);
        } catch (error) {
          reject(error);
        }
      };
      setImmediate(turn);
    });
  }

  #step(): boolean {
    if (this.chance.roll(TICK_PROBABILITY)) this.now += 1;
    this.#readyDueTimers();
    if (this.#ready.length === 0 || this.chance.roll(ADVANCE_PROBABILITY)) this.#advance();
    const task = this.#take();
    if (task === null) return this.#first() !== null || this.#ready.length > 0;
    this.#note(task);
    task.run();
    return true;
  }

  #take(): Task | null {
    const ready = this.#ready;
    while (ready.length > 0) {
      const index = Math.floor(this.chance.next() * ready.length);
      const task = ready[index];
      const last = ready.pop();
      if (task === undefined || last === undefined) return null;
      if (index < ready.length) ready[index] = last;
      if (task.actor === null) return task;
      if (task.actor.dead) continue;
      if (task.actor.pausedUntil <= this.now) return task;
      this.at(task.actor.pausedUntil, task);
    }
    return null;
  }

  #note(task: Task): void {
    const execution = `${this.now - START_AT} ${task.actor?.name ?? "-"} ${task.label}`;
    this.#trace[this.steps % TRACE_MAX] = execution;
    this.steps += 1;
    let hash = this.hash;
    for (let index = 0; index < execution.length; index += 1)
      hash = Math.imul(hash ^ execution.charCodeAt(index), 0x01000193);
    this.hash = hash >>> 0;
  }

  /** Adds a line to the trace without a step. */
  remark(text: string): void {
    this.#note({ actor: null, label: text, run: noop });
  }

  #advance(): void {
    const first = this.#first();
    if (first === null) return;
    this.now = Math.max(this.now, first.at);
    this.#readyDueTimers();
  }

  #readyDueTimers(): void {
    for (let first = this.#first(); first !== null && first.at <= this.now; first = this.#first()) {
      this.#pop();
      this.#ready.push(first.task);
    }
  }

  #first(): Timer | null {
    for (;;) {
      const first = this.#timers[0];
      if (first === undefined) return null;
      if (first.open && first.task.actor?.dead !== true) return first;
      this.#pop();
    }
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      if (left === undefined) break;
      const right = heap[2 * index + 2];
      const goesRight = right !== undefined && isBefore(right, left);
      const child = goesRight ? right : left;
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = 2 * index + (goesRight ? 2 : 1);
    }
    heap[index] = last;
  }
}

function isBefore(left: Timer, right: Timer): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

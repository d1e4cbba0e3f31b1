import type { Command, Completion, ProgramFactory, ProgramHost, Workflow } from "pawl";
import type { Execution, InterpreterHost } from "./interpreter-frame.ts";
import { generationInStart, type Program, type ProgramInput, type ProgramNode, type StepNode } from "./program.ts";

/** The nodes of a data program. */
type DataNode = Extract<ProgramNode, { kind: "step" | "sleep" | "listen" }>;

/** The state as data: the result of each completed node, the open nodes with their start times, and the next node. */
interface ReducerState {
  readonly done: Readonly<Record<string, unknown>>;
  readonly open: ReadonlyArray<{ readonly name: string; readonly issuedAt: number }>;
  readonly next: number;
}

const INITIAL_STATE: ReducerState = { done: {}, open: [], next: 0 };
/** The number of open nodes. */
const WIDTH = 2;
/** A snapshot is written after this many completed nodes. */
const SNAPSHOT_EVERY = 2;

export const REDUCER_NAME = "reducer";

/** A workflow whose program has its state as data, stored in snapshots. */
export function reducerWorkflow(host: InterpreterHost): Workflow<ProgramInput, unknown> {
  const factory: ProgramFactory = (programHost) => ({
    start(input, snapshot) {
      const { p, g } = input as ProgramInput;
      const program = host.programs[p];
      if (program === undefined) throw new Error(`program ${p} not found`);
      const execution = host.begin(programHost.runId, g, 1);
      new Reducer(
        { host, programHost, program, execution, input: { p, g } },
        (snapshot?.state as ReducerState | undefined) ?? INITIAL_STATE,
      ).start();
    },
  });
  return host.pawl.programWorkflow(REDUCER_NAME, factory);
}

interface ReducerParts {
  readonly host: InterpreterHost;
  readonly programHost: ProgramHost;
  readonly program: Program;
  readonly execution: Execution;
  readonly input: ProgramInput;
}

class Reducer {
  readonly #parts: ReducerParts;
  readonly #nodes: ReadonlyMap<string, DataNode>;
  #state: ReducerState;

  constructor(parts: ReducerParts, state: ReducerState) {
    this.#parts = parts;
    this.#state = state;
    this.#nodes = new Map((parts.program.nodes as readonly DataNode[]).map((node) => [node.name, node]));
  }

  /** Issues the open commands again, with their first start times. */
  start(): void {
    for (const { name, issuedAt } of this.#state.open) this.#issue(name, issuedAt);
    this.#fill();
  }

  #fill(): void {
    const { programHost, program } = this.#parts;
    while (this.#state.open.length < WIDTH && this.#state.next < program.nodes.length) {
      const node = program.nodes[this.#state.next] as DataNode;
      const issuedAt = programHost.now();
      this.#state = {
        ...this.#state,
        next: this.#state.next + 1,
        open: [...this.#state.open, { name: node.name, issuedAt }],
      };
      this.#issue(node.name, issuedAt);
    }
    if (this.#state.open.length === 0) this.#finish();
  }

  #finish(): void {
    const { programHost, program, input } = this.#parts;
    if (generationInStart(input) < program.generations) {
      programHost.finish({
        kind: "continued",
        workflow: REDUCER_NAME,
        version: 1,
        input: { p: input.p, g: input.g + 1 },
      });
    } else {
      const values = (program.nodes as readonly DataNode[]).map((node) => this.#state.done[node.name]);
      programHost.finish({ kind: "completed", output: { values, extras: [] } });
    }
  }

  #advance(name: string, completion: Completion): void {
    const { programHost, execution } = this.#parts;
    if (this.#nodes.get(name)?.kind !== "step" || !(this.#nodes.get(name) as StepNode).ephemeral)
      execution.given.push(name);
    if (completion.outcome === "failed") {
      programHost.finish({ kind: "failed", error: completion.error });
      return;
    }
    const done = { ...this.#state.done, [name]: dataValue(this.#nodes.get(name), completion) };
    this.#state = { ...this.#state, done, open: this.#state.open.filter((other) => other.name !== name) };
    this.#fill();
    if (Object.keys(done).length % SNAPSHOT_EVERY === 0) programHost.snapshot(this.#state);
  }

  #issue(name: string, issuedAt: number): void {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`node ${name} not found`);
    const settle = (completion: Completion): void => this.#advance(name, completion);
    this.#parts.programHost.issue(
      node.kind === "step" ? this.#step(node, issuedAt, settle) : waitCommand(node, issuedAt, settle),
    );
  }

  #step(node: StepNode, issuedAt: number, settle: (completion: Completion) => void): Command {
    const { host, execution } = this.#parts;
    const given = execution.given.length;
    return {
      kind: "step",
      record: "step",
      location: node.name,
      issuedAt,
      body: (info) => host.body(execution, node, node.name, info, given),
      retry: { maxAttempts: node.maxAttempts, initialMs: 200, factor: 2, maxMs: 1000, jitter: 0.1 },
      shouldRetry: null,
      timeoutMs: node.timeoutMs,
      retryOnTimeout: node.retryOnTimeout,
      ephemeral: node.ephemeral,
      idempotencyKey: null,
      attempts: 0,
      retryAt: 0,
      settle,
    };
  }
}

function waitCommand(
  node: Exclude<DataNode, StepNode>,
  issuedAt: number,
  settle: (completion: Completion) => void,
): Command {
  const ms = node.kind === "sleep" ? node.ms : node.timeoutMs;
  return {
    kind: "wait",
    record: node.kind,
    location: node.name,
    issuedAt,
    arms: node.kind === "sleep" ? [] : [{ kind: "message", name: node.message, as: node.message }],
    count: 1,
    many: false,
    until: ms === null ? null : issuedAt + ms,
    atDeadline: { outcome: node.kind === "sleep" ? "ok" : "timedOut", detail: null },
    settle,
  };
}

function dataValue(node: DataNode | undefined, completion: Completion): unknown {
  if (completion.outcome !== "ok") return "timeout";
  if (node?.kind === "sleep") return null;
  return node?.kind === "listen" ? (completion.value as { readonly value: unknown }).value : completion.value;
}

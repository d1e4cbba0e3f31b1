import type {
  Engine,
  EventPost,
  Heartbeat,
  Loaded,
  LogLevel,
  MemoryStore,
  ResourceOptions,
  Run,
  StepInfo,
  Transition,
} from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import type { Pawl } from "./engine-under-test.ts";
import type { ExpectedRun } from "./expected-run.ts";
import type { TransactionKind } from "./fault-matrix.ts";
import type { Execution, SimResource, TransactionCall } from "./interpreter-frame.ts";
import type { StepNode, TransactionNode } from "./program.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import type { CallFault, FaultRates, SimCase } from "./sim-case.ts";
import type { SimWorkflows } from "./workflows.ts";

/** One engine process, as seen by the other parts. */
export interface SimProcess extends Actor {
  /** The engine's id as a worker, known from its first heartbeat on. */
  engineId: string;
  /** No task of it runs before this time. */
  pausedUntil: number;
  /** Set when a body hangs: the process must be killed later. */
  hung: boolean;
  /** Set after the engine received the error that the store must not be used any more. It must then write nothing. */
  storeUnusable: boolean;
  readonly isClient: boolean;
  /** The error of its estimate of the store's clock. */
  readonly estimateMs: number;
  readonly engine: Engine | null;
  readonly workflows: SimWorkflows;
  /** True if it has the changed code. */
  readonly isChanged: boolean;
  /** The last full load of each run. The newest load is the last entry. */
  readonly loads: Map<string, Loaded>;
  kill(reason: string): void;
  onDeath(call: () => void): void;
}

export interface BodyStart {
  readonly node: StepNode;
  readonly location: string;
  readonly attempt: number;
  /** The number of completions that the code had received when it requested the step. */
  readonly given: number;
}

/** The violations, and the expected state of each run. */
export interface ExpectedState {
  readonly expectedRuns: ReadonlyMap<string, ExpectedRun>;
  readonly events: { readonly kept: ReadonlyMap<string, EventPost> };
  violate(invariant: string, text: string): void;
}

/** The monitors, as seen by the parts that they observe. */
export interface MonitorContext extends ExpectedState {
  readonly effects: {
    executionStarts(worker: SimProcess, execution: Execution): void;
    /** The worker receives the answer to a heartbeat. */
    heartbeatAnswered(worker: SimProcess, answer: Heartbeat): void;
    bodyStarts(worker: SimProcess, execution: Execution, start: BodyStart): void;
    bodyEnded(execution: Execution, location: string): void;
    bodyAborted(execution: Execution, location: string): void;
    undoes(execution: Execution, location: string, value: unknown): void;
    /** The append of an owner was applied. */
    runStopped(worker: SimProcess, append: Extract<Transition, { kind: "append" }>): void;
  };
  readonly suspects: { bodyStarts(worker: SimProcess, execution: Execution): void };
  readonly transactions: {
    called(
      worker: SimProcess,
      execution: Execution,
      call: { readonly key: string; readonly location: string; readonly count: number },
    ): void;
  };
  applied(worker: SimProcess, applied: AppliedCall): Promise<void>;
}

/** Executes step bodies. */
export interface BodyRunner {
  begin(worker: SimProcess, execution: Execution): Execution;
  run(
    worker: SimProcess,
    execution: Execution,
    node: StepNode,
    location: string,
    info: StepInfo,
    given: number,
  ): unknown;
  transact(worker: SimProcess, execution: Execution, node: TransactionNode, call: TransactionCall): string;
  resource(worker: SimProcess, execution: Execution, name: string): ResourceOptions<SimResource>;
}

/** The simulation, as seen by its parts. */
export interface SimulationContext {
  readonly case: SimCase;
  readonly pawl: Pawl;
  readonly scheduler: Scheduler;
  readonly store: MemoryStore;
  readonly monitor: MonitorContext;
  readonly bodies: BodyRunner;
  readonly faultRates: FaultRates;
  readonly storeNow: number;
  /** The maximum of the store's clock so far. */
  readonly storeNowMax: number;
  /** True during an outage of the store. */
  readonly isOut: boolean;
  /** True after the change of the workers' code. */
  readonly isChanged: boolean;
  /** True if the outcome of a start is unknown, or a start may still arrive. */
  readonly isStarting: boolean;
  /** The number of commits in flight that create runs. */
  readonly creating: Set<readonly Transition[]>;
  /** Workers whose engine accepts requests. */
  readonly usable: readonly SimProcess[];
  /** Chooses the fault of this call, or null. */
  faultOf(worker: SimProcess, kinds: readonly TransactionKind[]): CallFault | null;
  /** The wait at a location, as kinds and names. Counted receives are omitted. */
  awaited(row: Run, location: string): readonly string[];
  logged(worker: SimProcess, level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>): void;
  opened(): void;
  died(worker: SimProcess): void;
}

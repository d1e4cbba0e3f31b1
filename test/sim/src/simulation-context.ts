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

/** One engine process, as the others see it. */
export interface SimProcess extends Actor {
  /** The engine's id as a worker, known from its first heartbeat on. */
  engineId: string;
  /** Set when a body hangs: the process has to die some day. */
  hung: boolean;
  readonly isClient: boolean;
  /** How far its idea of the store's clock is off. */
  readonly estimateMs: number;
  readonly engine: Engine | null;
  readonly workflows: SimWorkflows;
  /** Whether its code is the changed one. */
  readonly isChanged: boolean;
  /** What it was last given of each run that it read in full. */
  readonly loads: Map<string, Loaded>;
  kill(reason: string): void;
  onDeath(call: () => void): void;
}

export interface BodyStart {
  readonly node: StepNode;
  readonly location: string;
  readonly attempt: number;
  /** How many completions the code had been given when it asked for the step. */
  readonly given: number;
}

/** What the monitors have found, and what they know of each run. */
export interface ExpectedState {
  readonly expectedRuns: ReadonlyMap<string, ExpectedRun>;
  readonly events: { readonly kept: ReadonlyMap<string, EventPost> };
  violate(invariant: string, text: string): void;
}

/** The monitors, as those see them who do something. */
export interface MonitorContext extends ExpectedState {
  readonly effects: {
    executionStarts(worker: SimProcess, execution: Execution): void;
    /** The worker is given the answer to a beat. */
    heartbeatAnswered(worker: SimProcess, answer: Heartbeat): void;
    bodyStarts(worker: SimProcess, execution: Execution, start: BodyStart): void;
    undoes(execution: Execution, location: string, value: unknown): void;
  };
  readonly transactions: {
    called(
      worker: SimProcess,
      execution: Execution,
      call: { readonly key: string; readonly location: string; readonly count: number },
    ): void;
  };
  applied(worker: SimProcess, applied: AppliedCall): Promise<void>;
}

/** What step bodies do. */
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

/** The world, as its parts see it. */
export interface SimulationContext {
  readonly case: SimCase;
  readonly pawl: Pawl;
  readonly scheduler: Scheduler;
  readonly store: MemoryStore;
  readonly monitor: MonitorContext;
  readonly bodies: BodyRunner;
  readonly faultRates: FaultRates;
  readonly storeNow: number;
  /** The latest time the store's clock has shown. */
  readonly storeNowMax: number;
  /** Whether the store can't be reached at all. */
  readonly isOut: boolean;
  /** Whether the workers' code has been changed. */
  readonly isChanged: boolean;
  /** Whether it is not known yet of some start that it has happened, or one may still arrive. */
  readonly isStarting: boolean;
  /** Commits on their way to the store that create runs. */
  readonly creating: Set<readonly Transition[]>;
  /** Engines that a client can talk to. */
  readonly usable: readonly SimProcess[];
  /** What befalls this call. */
  faultOf(worker: SimProcess, kinds: readonly TransactionKind[]): CallFault | null;
  /** What the wait at a location is for, as kinds and names; counted receives are left out. */
  awaited(row: Run, location: string): readonly string[];
  logged(worker: SimProcess, level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>): void;
  opened(): void;
  died(worker: SimProcess): void;
}

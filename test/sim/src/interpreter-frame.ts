import type { Ctx, MemoryTx, Resource, ResourceOptions, StepInfo, Workflow } from "pawl";
import type { Pawl } from "./engine-under-test.ts";
import {
  locationOf,
  type Place,
  type Program,
  type ProgramInput,
  type ProgramNode,
  type StepNode,
  type TransactionNode,
} from "./program.ts";

/** One execution of a run's code in one process, from its start until it ends or is interrupted. */
export interface Execution {
  readonly runId: string;
  readonly generation: number;
  /** The version of the code. */
  readonly version: number;
  /** Locations of the completions that the code has received. */
  readonly given: string[];
  /** Scopes of branches that have lost their race. */
  readonly lost: string[];
  /** The resources of the code. `held` has the names of those acquired now, in order. */
  readonly resources: Array<Resource<SimResource>>;
  readonly held: string[];
}

export function newExecution(runId: string, generation: number, version: number): Execution {
  return { runId, generation, version, given: [], lost: [], resources: [], held: [] };
}

/** A call of a transaction's body by the store. */
export interface TransactionCall {
  readonly location: string;
  readonly tx: MemoryTx;
  readonly attempt: number;
}

/** Something that is acquired and released. */
export interface SimResource {
  readonly name: string;
  isHeld: boolean;
}

/** The services that the interpreter needs from the simulation. */
export interface InterpreterHost {
  readonly pawl: Pawl;
  readonly programs: readonly Program[];
  /** The programs whose unchanged code throws a programming error. */
  readonly bugs: readonly number[];
  /** The ids of the case's runs, by index. */
  readonly runIds: readonly string[];
  begin(runId: string, generation: number, version: number): Execution;
  /** True if this worker has the changed code. */
  isChanged(runId: string): boolean;
  /** `given` is the number of completions that the code had received when it requested the step. */
  body(execution: Execution, node: StepNode, location: string, info: StepInfo, given: number): unknown;
  transact(execution: Execution, node: TransactionNode, call: TransactionCall): string;
  resource(execution: Execution, name: string): ResourceOptions<SimResource>;
  /** A rollback is about to undo a step with this value. */
  undoes(execution: Execution, location: string, value: unknown): void;
}

/** The position of the interpreter: its run, scope and execution. */
export interface Frame {
  readonly ctx: Ctx;
  readonly at: Place;
  readonly host: InterpreterHost;
  readonly execution: Execution;
  readonly workflowOf: (program: number) => Workflow<ProgramInput, unknown>;
  /** Values of now, random and uuid. A replay must return the same; the model cannot predict them. */
  readonly extras: unknown[];
  /** Executes nodes one after the other in this frame. */
  readonly list: (frame: Frame, nodes: readonly ProgramNode[]) => Promise<unknown[]>;
}

/** The name to pass to the ctx, and the resulting location. */
export function placed({ at }: Frame, name: string): { readonly name: string; readonly location: string } {
  return { name: name + at.suffix, location: locationOf(name, at) };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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

/** One execution of a run's code in one process: from its start to its end, or to whatever cuts it off. */
export interface Execution {
  readonly runId: string;
  readonly generation: number;
  /** Of the code. */
  readonly version: number;
  /** Locations of commands whose completion the code has been given. */
  readonly given: string[];
  /** Scopes of branches that have lost their race. */
  readonly lost: string[];
  /** What the code was given, and what is held of it, the last at the end. */
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

/** What the interpreter asks of the world it runs in. */
export interface InterpreterHost {
  readonly pawl: Pawl;
  readonly programs: readonly Program[];
  /** The ids of the case's runs, by place. */
  readonly runIds: readonly string[];
  begin(runId: string, generation: number, version: number): Execution;
  /** Whether the code that runs here is the changed one. */
  isChanged(runId: string): boolean;
  /** `given` is how many completions the code had been given when it asked for the step. */
  body(execution: Execution, node: StepNode, location: string, info: StepInfo, given: number): unknown;
  transact(execution: Execution, node: TransactionNode, call: TransactionCall): string;
  resource(execution: Execution, name: string): ResourceOptions<SimResource>;
  /** A handler is about to undo a step that brought this value. */
  undoes(execution: Execution, location: string, value: unknown): void;
}

/** Where the interpreter is: in which scope, for which run, on behalf of whom. */
export interface Frame {
  readonly ctx: Ctx;
  readonly at: Place;
  readonly host: InterpreterHost;
  readonly execution: Execution;
  readonly workflowOf: (program: number) => Workflow<ProgramInput, unknown>;
  /** What replay must give again, and no model foretells: now, random, uuid. */
  readonly extras: unknown[];
  /** Runs nodes one after the other, in this frame. */
  readonly list: (frame: Frame, nodes: readonly ProgramNode[]) => Promise<unknown[]>;
}

/** The name by which the ctx is asked, and the location that comes of it. */
export function placed({ at }: Frame, name: string): { readonly name: string; readonly location: string } {
  return { name: name + at.round, location: locationOf(name, at) };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

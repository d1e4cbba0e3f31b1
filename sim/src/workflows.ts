import type { Workflow } from "pawl";
import type { InterpreterHost } from "./frame.ts";
import { interpreterWorkflow } from "./interpreter.ts";
import type { ProgramInput } from "./program.ts";
import { reducerWorkflow } from "./reducer.ts";

/** Both kinds of workflow, and which of them runs a program. */
export interface SimWorkflows {
  readonly all: ReadonlyArray<Workflow<ProgramInput, unknown>>;
  of(program: number): Workflow<ProgramInput, unknown>;
}

export function simWorkflows(host: InterpreterHost): SimWorkflows {
  const data = reducerWorkflow(host);
  const of = (program: number): Workflow<ProgramInput, unknown> =>
    host.programs[program]?.data === true ? data : code;
  const code: Workflow<ProgramInput, unknown> = interpreterWorkflow(host, of);
  return { all: [code, data], of };
}

import type { Workflow } from "pawl";
import { interpreterWorkflow } from "./interpreter.ts";
import type { InterpreterHost } from "./interpreter-frame.ts";
import type { ProgramInput } from "./program.ts";
import { reducerWorkflow } from "./reducer.ts";

/** The workflows: code in two versions, and the reducer. `of` returns the workflow of a program. */
export interface SimWorkflows {
  readonly all: ReadonlyArray<Workflow<ProgramInput, unknown>>;
  of(program: number): Workflow<ProgramInput, unknown>;
}

export function simWorkflows(host: InterpreterHost): SimWorkflows {
  const data = reducerWorkflow(host);
  const of = (program: number): Workflow<ProgramInput, unknown> => {
    const { data: isData, version } = host.programs[program] ?? { data: false, version: 1 };
    return isData ? data : version === 1 ? first : second;
  };
  const first: Workflow<ProgramInput, unknown> = interpreterWorkflow(host, of, 1);
  const second: Workflow<ProgramInput, unknown> = interpreterWorkflow(host, of, 2);
  return { all: [first, second, data], of };
}

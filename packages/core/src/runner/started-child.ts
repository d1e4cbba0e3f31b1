/** The value of a `spawn` record: the child's id and its workflow. In records of earlier versions and of programs: only the id. */
export interface StartedChild {
  readonly runId: string;
  readonly workflow: string;
  /** The child stays open when its parent ends. Omitted if it is cancelled then. */
  readonly abandoned?: true;
}

export function startedRunId(value: unknown): string {
  return typeof value === "string" ? value : (value as StartedChild).runId;
}

/** Null if the record does not contain it. */
export function startedWorkflow(value: unknown): string | null {
  const workflow = (value as Partial<StartedChild> | null | undefined)?.workflow;
  return typeof workflow === "string" ? workflow : null;
}

/** Whether the record says that the child stays open when its parent ends. */
export function isAbandoned(value: unknown): boolean {
  return (value as Partial<StartedChild> | null | undefined)?.abandoned === true;
}

/** Which workflow, in which version: a run stays on the version that it was started with. */
export interface WorkflowRef {
  readonly name: string;
  readonly version: number;
}

/** The same text for the same workflow and version, and for no other: a version is digits alone. */
export function workflowKey({ name, version }: WorkflowRef): string {
  return `${version}:${name}`;
}

/** The same workflow and version once, however often it is named. */
export function distinctWorkflows(refs: readonly WorkflowRef[]): readonly WorkflowRef[] {
  return [...new Map(refs.map((ref) => [workflowKey(ref), ref])).values()];
}

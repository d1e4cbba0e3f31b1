/** A workflow and its version. A run keeps the version that it was started with. */
export interface WorkflowRef {
  readonly name: string;
  readonly version: number;
}

/** Returns a key that is different for each workflow and version. A version has only digits. */
export function workflowKey({ name, version }: WorkflowRef): string {
  return `${version}:${name}`;
}

/** Removes duplicates. */
export function distinctWorkflows(refs: readonly WorkflowRef[]): readonly WorkflowRef[] {
  return [...new Map(refs.map((ref) => [workflowKey(ref), ref])).values()];
}

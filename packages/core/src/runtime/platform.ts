/** The `process` of Node and of platforms compatible with it. Undefined in a browser. */
export const nodeProcess: NodeJS.Process | undefined = (globalThis as { readonly process?: NodeJS.Process }).process;

/**
 * Returns a built-in module. Null if the platform does not have it. It is loaded at run time, because a bundle for a browser must not import
 * modules of Node.
 */
export function builtinModule<Module>(name: string): Module | null {
  const load: ((name: string) => unknown) | undefined = nodeProcess?.getBuiltinModule;
  return (load?.(name) as Module | undefined) ?? null;
}

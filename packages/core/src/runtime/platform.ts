/** What only some platforms have. A bundle for a browser names no module of Node's, so they are asked for when the code runs. */

/** Node's, and that of those who do as Node does; undefined in a browser. */
export const nodeProcess: NodeJS.Process | undefined = (globalThis as { readonly process?: NodeJS.Process }).process;

/** A module that comes with the platform; null where there is none. */
export function builtinModule<Module>(name: string): Module | null {
  const load: ((name: string) => unknown) | undefined = nodeProcess?.getBuiltinModule;
  return (load?.(name) as Module | undefined) ?? null;
}

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as PawlModule from "pawl";

/** The published engine as a module. */
export type Pawl = typeof PawlModule;

/** Loads the engine, or a mutant that was built in another folder. */
export async function loadPawl(dist: string | null): Promise<Pawl> {
  if (dist === null) return await import("pawl");
  return (await import(pathToFileURL(join(dist, "index.js")).href)) as Pawl;
}

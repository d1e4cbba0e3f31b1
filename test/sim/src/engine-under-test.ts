import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as PawlModule from "pawl";

/** The engine as published: everything that the simulator takes from it, as values. */
export type Pawl = typeof PawlModule;

/** The engine itself, or the one built in another folder: a mutant. */
export async function loadPawl(dist: string | null): Promise<Pawl> {
  if (dist === null) return await import("pawl");
  return (await import(pathToFileURL(join(dist, "index.js")).href)) as Pawl;
}

import { PawlError } from "../model/errors.ts";
import type { Run } from "../model/run.ts";

/** Why a run that was just claimed is not worked on: it has ended its workers too often. Null: it is. */
export function poisonOf(run: Run, claimsMax: number): PawlError | null {
  if (run.claims <= claimsMax) return null;
  return new PawlError(
    "POISONED",
    `run ${run.id} was claimed ${run.claims - 1} times without making progress: it ends the processes that work on it`,
  );
}
